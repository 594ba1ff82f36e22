#include "capi/generated/params.h"
#include "runtime/sampling/watermark/watermark_detect.h"

sotto_status sotto_watermark_detect(const sotto_watermark_params* params, size_t vocabulary_size,
                                    const sotto_token* tokens, size_t count, sotto_watermark_result* result,
                                    sotto_error* error) {
  sotto::capi::ErrorOut out(error);
  if (params == nullptr) return out.null_argument("params");
  if (tokens == nullptr && count != 0) return out.null_argument("tokens");
  if (result == nullptr) return out.null_argument("result");
  if (result->struct_size == 0) return out.bad_struct("result");
  sotto::WatermarkParams read;
  if (const sotto_status bad = sotto::capi::read_params(params, "params", &read, &out); bad != SOTTO_OK) return bad;
  sotto::WatermarkResult found;
  const sotto::Status status = sotto::detect_watermark(read, {tokens, count}, vocabulary_size, &found, out.get());
  if (status != sotto::Status::kOk) return sotto::capi::wrap(status);
  sotto_watermark_result filled = {};
  filled.is_marked = found.is_marked ? 1 : 0;
  filled.token_count = found.token_count;
  filled.score = found.score;
  filled.z = found.z;
  filled.p_value = found.p_value;
  sotto::capi::fill(result, filled);
  return SOTTO_OK;
}
