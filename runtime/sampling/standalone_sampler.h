// A sampler without a session, for the logits of any runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/sampling/sampler.h"

namespace sotto {

class StandaloneSampler {
 public:
  static Status memory_size(size_t vocabulary_size, uint32_t list_bytes, size_t* size, Error* error);
  // `kernels` and the objects that `shape` points to must outlive the sampler.
  static Status init(const Kernels& kernels, const SamplerShape& shape, void* memory, size_t memory_size,
                     StandaloneSampler** sampler, Error* error);

  size_t vocabulary_size() const { return vocabulary_size_; }
  Status set_params(const SamplerParams& params, Error* error);
  // `logits` has vocabulary_size() elements; the input's tokens are in the vocabulary.
  int32_t pick(std::span<const float> logits, const TokenMask& mask, const SampleInput& input);
  // The result is valid until the next call.
  Candidates& apply(std::span<const float> logits, const TokenMask& mask, const SampleInput& input);

 private:
  size_t vocabulary_size_ = 0;
  Sampler sampler_;
  SamplerState state_;
};

// Writes the probability of each candidate. If all logits are -infinity, the first, which would be
// selected, has probability 1.
void write_probabilities(Candidates& candidates, float* probabilities);

}  // namespace sotto
