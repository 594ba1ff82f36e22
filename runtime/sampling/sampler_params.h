// What a session tells its sampler: the caller's parameters and the tokens so far.
#pragma once

#include <cstdint>
#include <span>

namespace sotto {

// As sotto_sampler_params.
struct SamplerParams {
  float temperature = 0.8f;
  uint32_t top_k = 40;
  float top_p = 0.95f;
  float min_p = 0.05f;
  float repetition_penalty = 1.0f;
  uint32_t repetition_window = 64;
  bool log_probabilities = false;
  uint64_t seed = 0;
};

// The newest tokens of a stream, oldest first, in at most two pieces (a ring).
struct TokenHistory {
  std::span<const int32_t> older;
  std::span<const int32_t> newer;
};

}  // namespace sotto
