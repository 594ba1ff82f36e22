#include "runtime/sampling/log_probabilities.h"

#include <algorithm>
#include <limits>

#include "runtime/base/arena.h"
#include "runtime/base/scalar_math.h"

namespace sotto {

LogProbabilities::LogProbabilities(const Kernels& kernels, std::span<const float> logits)
    : logits_(logits), max_(kernels.max(logits.data(), logits.size())) {
  if (has_infinite_max()) {
    const auto count = max_ > 0 ? std::count(logits.begin(), logits.end(), max_logit()) : std::ssize(logits);
    sum_ = static_cast<double>(count);
  } else {
    constexpr size_t kSums = 4;  // independent sums, because one would wait for each addition
    double sums[kSums] = {};
    for_each_power_chunk(kernels, logits, max_logit(), [&](float* powers, size_t, size_t count) {
      const size_t padded = align_up(count, kSums);
      std::fill(powers + count, powers + padded, 0.0f);
      for (size_t i = 0; i < padded; i += kSums) {
        for (size_t j = 0; j < kSums; ++j) sums[j] += static_cast<double>(powers[i + j]);
      }
    });
    sum_ = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
  ln_sum_ = ln(sum_);
}

double LogProbabilities::entropy(const Kernels& kernels) const {
  if (has_infinite_max()) return ln_sum_;
  FoldedSum sum;
  for_each_power_chunk(kernels, logits_, max_logit(), [&](const float* powers, size_t first, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const float gap = max_logit() - logits_[first + i];
      sum.add(i, static_cast<double>(zero_unless(powers[i] > 0, powers[i] * gap)));
    }
  });
  return ln_sum_ + sum.fold() / sum_;
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

void LogProbabilities::apply(std::span<float> logits) const {
  if (has_infinite_max()) {
    for (float& logit : logits) logit = static_cast<float>(of_logit(logit));
    return;
  }
  // The same as of_logit(), in two loops that compilers vectorize.
  for (float& logit : logits) logit = logit >= kMinusInfinity ? logit : kMinusInfinity;
  for (float& logit : logits) logit = static_cast<float>((static_cast<double>(logit) - max_) - ln_sum_);
}

}  // namespace sotto
