#include "runtime/session/guide.h"

#include <limits>

#include "runtime/base/scalar_math.h"
#include "runtime/session/log_probabilities.h"

namespace sotto {
namespace {

constexpr float kMaxScale = 100;
constexpr float kMaxBeta = 100;

Status check_range(const char* name, float value, float low, float high, Error* error) {
  if (value >= low && value <= high) return Status::kOk;
  return fail(error, Status::kInvalidArgument, name, " is ", value, ", must be ", low, " to ", high);
}

void mix_free(const Kernels& kernels, double scale, std::span<const float> logits, std::span<const float> guide,
              float* mixed) {
  const LogProbabilities model(kernels, logits);
  const LogProbabilities other(kernels, guide);
  for (size_t i = 0; i < logits.size(); ++i) {
    const double unguided = other.of_logit(guide[i]);
    const double difference = model.of_logit(logits[i]) - unguided;
    mixed[i] = static_cast<float>(scale * difference + unguided);
  }
}

void mix_contrast(const Kernels& kernels, const GuideParams& params, std::span<const float> logits,
                  std::span<const float> guide, float* mixed) {
  const double max = static_cast<double>(kernels.max(logits.data(), logits.size()));
  const double floor = max + ln(static_cast<double>(params.alpha));
  for (size_t i = 0; i < logits.size(); ++i) {
    const bool plausible = static_cast<double>(logits[i]) >= floor;
    mixed[i] =
        plausible ? (1 + params.beta) * logits[i] - params.beta * guide[i] : -std::numeric_limits<float>::infinity();
  }
}

}  // namespace

Status check_guide(const GuideParams& params, Error* error) {
  if (params.mode != GuideMode::kCfg && params.mode != GuideMode::kContrast) {
    return fail(error, Status::kInvalidArgument, "mode is not a SOTTO_GUIDE_ value with a guide");
  }
  SOTTO_TRY(check_range("scale", params.scale, 0, kMaxScale, error));
  SOTTO_TRY(check_range("alpha", params.alpha, 0, 1, error));
  if (params.alpha == 0) return fail(error, Status::kInvalidArgument, "alpha is 0, must be above");
  return check_range("beta", params.beta, 0, kMaxBeta, error);
}

void mix_guide(const Kernels& kernels, const GuideParams& params, std::span<const float> logits,
               std::span<const float> guide, float* mixed) {
  if (params.mode == GuideMode::kCfg) {
    mix_free(kernels, static_cast<double>(params.scale), logits, guide, mixed);
  } else {
    mix_contrast(kernels, params, logits, guide, mixed);
  }
}

}  // namespace sotto
