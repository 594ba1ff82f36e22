// Log probabilities of tokens under the model itself, before the sampler changes the logits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/kernels.h"
#include "runtime/generated/params.h"

namespace sotto {

inline constexpr size_t kPowerCount = 1024;

// Calls function(powers, first, count) for consecutive parts of the logits, where powers[i] is exp(l - max) of logit
// first + i. `powers` has kPowerCount elements.
template <typename F>
void for_each_power_chunk(const Kernels& kernels, std::span<const float> logits, float max, F function) {
  float powers[kPowerCount];
  for (size_t first = 0; first < logits.size(); first += kPowerCount) {
    const size_t count = std::min(kPowerCount, logits.size() - first);
    kernels.exp_shifted(logits.data() + first, count, max, powers);
    function(powers, first, count);
  }
}

// The log softmax of a row of logits: ln p = l - max - ln sum exp(l - max), summed up in double precision. NaN counts
// as -infinity. Tokens with a logit of +infinity share the whole probability equally. If all logits are -infinity, all
// tokens are equally likely.
class LogProbabilities {
 public:
  LogProbabilities(const Kernels& kernels, std::span<const float> logits);

  double of(int32_t token) const { return of_logit(logits_[static_cast<size_t>(token)]); }
  double of_logit(float logit) const {
    if (has_infinite_max()) return logit == max_logit() || max_ < 0 ? -ln_sum_ : -kInfinity;
    return logit == logit ? (static_cast<double>(logit) - max_) - ln_sum_ : -kInfinity;
  }
  // Returns the entropy H = -sum p ln p in nats, computed as ln sum + sum p (max - l).
  double entropy(const Kernels& kernels) const;
  // Replaces logits by ln p.
  void apply(std::span<float> logits) const;
  float max_logit() const { return static_cast<float>(max_); }
  double sum() const { return sum_; }  // sum of exp(l - max), or the number of equally likely tokens

  // Finds the most likely tokens, most likely first. The lowest id comes first among equals. Returns their number.
  size_t find_likeliest(std::span<Alternative> alternatives) const;

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  bool has_infinite_max() const { return std::fabs(max_) == kInfinity; }

  std::span<const float> logits_;
  double max_;
  double sum_ = 0;
  double ln_sum_ = 0;
};

}  // namespace sotto
