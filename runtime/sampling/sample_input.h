// The input of one sampling step, apart from the logits, and the state that selections keep between steps.
#pragma once

#include <cstdint>

#include "runtime/text/token_history.h"

namespace sotto {

struct SampleInput {
  TokenHistory history;          // the prompt and the sequence so far, or their newest tokens
  uint64_t place = 0;            // number of tokens in the sequence; selects the random number
  uint32_t sequence = 0;         // number of the sequence in a search; 0 for the session's own
  uint32_t rejected_count = 0;   // number of tokens that were rejected at this place
  uint64_t generated_count = 0;  // number of generated tokens at the end of the history
  uint64_t token_limit = 0;      // number of generated tokens after which the text ends; 0 if there is no limit
};

// The state of selections. A session stores it per token, so that it can be rolled back.
struct SamplerState {
  float mirostat_mu = 0;      // in bits
  float adaptive_sum = 0;     // decayed sum of past probabilities
  float adaptive_weight = 0;  // decayed number of past probabilities
  uint32_t top_p_step = 0;    // number of tokens since top_p began to decay
};

}  // namespace sotto
