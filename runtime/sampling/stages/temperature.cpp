#include "runtime/sampling/stages/temperature.h"

#include <algorithm>
#include <limits>

#include "runtime/base/scalar_math.h"

namespace sotto {

void temperature(Candidates& candidates, float t) {
  if (t > 0) return candidates.divide_by(t);
  const size_t best = candidates.ranking().argmax();
  candidates.keep_if([best](size_t i) { return i == best; });
}

float dynamic_temperature(Candidates& candidates, float t, float range, float exponent) {
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

void smooth(Candidates& candidates, float factor, float curve) {
  if (!(factor > 0)) return;
  const std::span<float> logits = candidates.mutable_logits();
  const float max = candidates.max();
  if (!(max > kMinusInfinity) || max > std::numeric_limits<float>::max()) return;
  const double f = static_cast<double>(factor), c = static_cast<double>(curve);
  const double square = -f * (3 - c) / 2, cube = f * (c - 1) / 2;
  for (float& l : logits) {
    const double d = static_cast<double>(l) - static_cast<double>(max);
    const double smoothed = static_cast<double>(max) + d * d * (square + cube * d);
    l = l > kMinusInfinity ? static_cast<float>(smoothed) : kMinusInfinity;
  }
  candidates.mutable_logits();
}

}  // namespace sotto
