#include "capi/sotto_handles.h"
#include "runtime/sampling/watermark/watermark_detect.h"

namespace {

constexpr sotto::WatermarkParams kRuntimeDefaults;
constexpr sotto_watermark_params kDefaults = {sizeof(sotto_watermark_params),
                                              static_cast<sotto_watermark_scheme>(kRuntimeDefaults.scheme),
                                              kRuntimeDefaults.context_width,
                                              kRuntimeDefaults.gamma,
                                              kRuntimeDefaults.delta,
                                              kRuntimeDefaults.tournament_layers,
                                              kRuntimeDefaults.key};

}  // namespace

sotto::WatermarkParams sotto::capi::read_watermark(const sotto_watermark_params& params) {
  const sotto_watermark_params given = read(&params, kDefaults);
  WatermarkParams watermark;
  watermark.scheme = static_cast<WatermarkScheme>(given.scheme);
  watermark.context_width = given.context_width;
  watermark.gamma = given.gamma;
  watermark.delta = given.delta;
  watermark.tournament_layers = given.tournament_layers;
  watermark.key = given.key;
  return watermark;
}

void sotto_watermark_params_init(sotto_watermark_params* params, size_t params_size) {
  sotto::capi::init_params(params, params_size, kDefaults);
}

sotto_status sotto_watermark_detect(const sotto_watermark_params* params, size_t vocabulary_size,
                                    const sotto_token* tokens, size_t count, sotto_watermark_result* result,
                                    sotto_error* error) {
  sotto::capi::ErrorOut out(error);
  if (params == nullptr) return out.null_argument("params");
  if (params->struct_size == 0) return out.bad_struct("params");
  if (tokens == nullptr && count != 0) return out.null_argument("tokens");
  if (result == nullptr) return out.null_argument("result");
  if (result->struct_size == 0) return out.bad_struct("result");
  sotto::WatermarkResult found;
  const sotto::Status status = sotto::detect_watermark(sotto::capi::read_watermark(*params), {tokens, count},
                                                       vocabulary_size, &found, out.get());
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
