#include "runtime/sampling/stages/adaptive.h"

#include <algorithm>
#include <cmath>

namespace sotto {

void begin_adaptive(float target, float decay, SamplerState* state) {
  state->adaptive_weight = 1 / (1 - decay);
  state->adaptive_sum = target * state->adaptive_weight;
}

std::span<const float> adapt(Candidates& candidates, float target, const SamplerState& state) {
  const float mean = state.adaptive_weight > 0 ? state.adaptive_sum / state.adaptive_weight : target;
  const float goal = std::clamp(2 * target - mean, 0.0f, 1.0f);
  const auto scale = static_cast<float>(1 / candidates.total());
  const float* weights = candidates.weights();
  auto* before = reinterpret_cast<float*>(candidates.scratch().data());
  const std::span<float> logits = candidates.edit();
  for (size_t i = 0; i < logits.size(); ++i) {
    before[i] = weights[i] * scale;
    const float d = std::fabs(before[i] - goal) * (1 / 0.3f);
    logits[i] = logits[i] > Candidates::kLowest ? 5 - 10 * (d * d) / (1 + d) : Candidates::kLowest;
  }
  return {before, logits.size()};
}

void record_adaptive(float probability, float decay, SamplerState* state) {
  state->adaptive_sum = probability + decay * state->adaptive_sum;
  state->adaptive_weight = 1 + decay * state->adaptive_weight;
}

}  // namespace sotto
