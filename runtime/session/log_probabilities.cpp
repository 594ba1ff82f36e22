#include "runtime/session/log_probabilities.h"

#include <algorithm>

#include "runtime/base/scalar_math.h"

namespace sotto {

LogProbabilities::LogProbabilities(const Kernels& kernels, std::span<const float> logits)
    : logits_(logits), max_(kernels.max(logits.data(), logits.size())) {
  constexpr size_t kChunk = 1024;
  float powers[kChunk];
  for (size_t first = 0; first < logits.size(); first += kChunk) {
    const size_t count = std::min(kChunk, logits.size() - first);
    kernels.exp_shifted(logits.data() + first, count, max_logit(), powers);
    for (size_t i = 0; i < count; ++i) sum_ += static_cast<double>(powers[i]);
  }
  ln_sum_ = ln(sum_);
}

size_t LogProbabilities::find_likeliest(std::span<Alternative> alternatives) const {
  const size_t wanted = std::min(alternatives.size(), logits_.size());
  size_t count = 0;
  for (size_t id = 0; id < logits_.size() && wanted > 0; ++id) {
    const float logit = logits_[id];
    if (count == wanted && !(logit > alternatives[count - 1].log_probability)) continue;
    if (logit != logit) continue;
    size_t at = count < wanted ? count++ : count - 1;
    for (; at > 0 && alternatives[at - 1].log_probability < logit; --at) {
      alternatives[at] = alternatives[at - 1];
    }
    alternatives[at] = {static_cast<int32_t>(id), logit};
  }
  for (Alternative& alternative : alternatives.first(count)) {
    alternative.log_probability = static_cast<float>(of_logit(alternative.log_probability));
  }
  return count;
}

}  // namespace sotto
