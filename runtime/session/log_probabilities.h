// Log probabilities of tokens under the model itself, before the sampler changes the logits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernels.h"
#include "runtime/generated/params.h"

namespace sotto {

// The log softmax of a row of logits: ln p = l - max - ln sum exp(l - max). The sum is a double that adds the tokens in
// the order of their ids.
class LogProbabilities {
 public:
  LogProbabilities(const Kernels& kernels, std::span<const float> logits);

  double of(int32_t token) const { return of_logit(logits_[static_cast<size_t>(token)]); }
  double of_logit(float logit) const { return (static_cast<double>(logit) - max_) - ln_sum_; }
  float max_logit() const { return static_cast<float>(max_); }
  double sum() const { return sum_; }  // sum of exp(l - max)

  // Finds the most likely tokens, most likely first, and the lowest id first among equals. Returns their number.
  size_t find_likeliest(std::span<Alternative> alternatives) const;

 private:
  std::span<const float> logits_;
  double max_;
  double sum_ = 0;
  double ln_sum_ = 0;
};

}  // namespace sotto
