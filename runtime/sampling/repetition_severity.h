// Measures how much a text repeats itself.
#pragma once

#include <cstddef>

#include "runtime/generated/params.h"
#include "runtime/sampling/token_history.h"

namespace sotto {

// Returns 0 (no repetition) to 1 (nothing else) for the newest n <= SamplerParams::kMaxGuardWindow tokens of a
// window: the mean of
//   max(0, 1 - 2 d / n) with d distinct tokens, as half of the tokens of any text occur twice;
//   1 - b / (n - 1) with b distinct bigrams;
//   min(1, 2 s / n) with s the length of the longest suffix that also occurs earlier.
// Returns 0 for n < 8. Uses only the stack.
float repetition_severity(const TokenHistory& history, size_t window);

}  // namespace sotto
