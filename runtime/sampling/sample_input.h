// The input of one sampling step besides the logits, and the state that selections keep between steps.
#pragma once

#include <cstdint>

#include "runtime/sampling/token_history.h"

namespace sotto {

struct SampleInput {
  TokenHistory history;          // the sequence so far, prompt included, at most the context
  uint64_t draw = 0;             // number of tokens in the sequence: the position in the stream of random
                                 // numbers, so that a session that was rolled back draws the same again
  uint32_t sequence = 0;         // number of a search's sequence; 0 is the session's own
  uint64_t generated_count = 0;  // generated tokens, at the end of the history
  uint64_t token_limit = 0;      // generated tokens after which the text ends; 0: unknown
};

// The state of selections. A session keeps one per token, so that it can be rolled back.
struct SamplerState {
  float mirostat_mu = 0;      // bits
  float adaptive_sum = 0;     // of past probabilities, decayed
  float adaptive_weight = 0;  // of the same
  uint32_t top_p_step = 0;    // tokens since top_p began to decay
};

}  // namespace sotto
