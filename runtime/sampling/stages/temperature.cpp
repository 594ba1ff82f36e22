// Stages that sharpen or flatten the distribution.
#include <algorithm>
#include <limits>

#include "runtime/base/scalar_math.h"
#include "runtime/sampling/stages/stage.h"

namespace sotto::stages {
namespace {

// Dynamic temperature (kalomaze 2023): returns lowest + (highest - lowest) (H / ln N)^exponent, where
// lowest = max(0, t - range), highest = t + range, and H is the entropy of the N candidates.
float dynamic_temperature(const Candidates& candidates, float t, float range, float exponent) {
  const std::span<const float> logits = {candidates.logits(), candidates.count()};
  const auto drawable = std::count_if(logits.begin(), logits.end(), [](float l) { return l > kMinusInfinity; });
  if (drawable < 2) return t;
  const double minimum = std::max(0.0, static_cast<double>(t) - static_cast<double>(range));
  const double maximum = static_cast<double>(t) + static_cast<double>(range);
  const double evenness = entropy(candidates) / ln(static_cast<double>(drawable));
  // Rounding may have moved the ratio out of [0, 1].
  const double relative = std::clamp(evenness, 0.0, 1.0);
  const double power = relative > 0 ? power_of(relative, static_cast<double>(exponent)) : exponent > 0 ? 0.0 : 1.0;
  return static_cast<float>(minimum + (maximum - minimum) * power);
}

}  // namespace

// Divides l by T. If T <= 0, keeps only the most likely token.
void temperature(Candidates& candidates, const StageInput& input) {
  const SamplerParams& p = input.params;
  float t = p.temperature;
  if (p.temperature_range > 0) t = dynamic_temperature(candidates, t, p.temperature_range, p.temperature_exponent);
  if (!(t > 0)) return candidates.keep_top(1);
  candidates.divide_by(t);
}

// Quadratic smoothing (kalomaze 2024): replaces l by max - k f d^2 + s f d^3, where d = l - max, k = (3 - c) / 2 and s
// = (c - 1) / 2.
void smoothing(Candidates& candidates, const StageInput& input) {
  const auto f = static_cast<double>(input.params.smoothing_factor);
  const auto c = static_cast<double>(input.params.smoothing_curve);
  const double square = -f * (3 - c) / 2, cube = f * (c - 1) / 2;
  candidates.change_logits([&](std::span<float> logits) {
    const float max = candidates.max();
    if (!(max > kMinusInfinity) || max > std::numeric_limits<float>::max()) return;
    for (float& l : logits) {
      const double d = static_cast<double>(l) - static_cast<double>(max);
      const double smoothed = static_cast<double>(max) + d * d * (square + cube * d);
      l = l > kMinusInfinity ? static_cast<float>(smoothed) : kMinusInfinity;
    }
  });
}

}  // namespace sotto::stages
