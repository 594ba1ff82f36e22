// What the stages of a chain know beside the logits.
#pragma once

#include <cstdint>

#include "runtime/sampling/token_history.h"

namespace sotto {

struct SampleInput {
  TokenHistory history;          // of the sequence, prompt included, at most the context
  uint64_t draw = 0;             // tokens of the sequence so far: the place in the stream of
                                 // random numbers, so that a rewound session draws the same again
  uint32_t sequence = 0;         // of a search: 0 is the session's own stream
  uint64_t generated_count = 0;  // tokens at the end of the history that were generated
  uint64_t token_limit = 0;      // generated tokens after which the text ends; 0: not known
};

// What selection learns from token to token. A session keeps one a token, so that a rewind
// finds it again.
struct SamplerState {
  float mirostat_mu = 0;      // bits
  float adaptive_sum = 0;     // of past probabilities, decayed
  float adaptive_weight = 0;  // of the same
  uint32_t top_p_step = 0;    // tokens since top_p began to decay
};

}  // namespace sotto
