#include "runtime/sampling/sampler_checks.h"

#include "runtime/sampling/process_checks.h"

namespace sotto {

namespace {

// NaN is out of every range. `limits` says what is allowed.
Status check_range(const char* name, float value, bool allowed, const char* limits, Error* error) {
  if (allowed) return Status::kOk;
  return fail(error, Status::kInvalidArgument, name, " is ", value, ", allowed is ", limits);
}

}  // namespace

Status check_sampler(const SamplerParams& params, const SamplerShape& shape, Error* error) {
  const float t = params.temperature, p = params.top_p, m = params.min_p;
  SOTTO_TRY(check_range("temperature", t, t >= 0 && t <= 100, "0 to 100", error));
  SOTTO_TRY(check_range("top_p", p, p > 0 && p <= 1, "above 0 to 1", error));
  SOTTO_TRY(check_range("min_p", m, m >= 0 && m <= 1, "0 to 1", error));
  SOTTO_TRY(check_penalties(params, error));
  SOTTO_TRY(check_lists(params, shape, error));
  SOTTO_TRY(check_watermark(params.watermark, error));
  return check_watermark_selection(params, error);
}

}  // namespace sotto
