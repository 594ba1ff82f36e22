// How much a text repeats itself, as one number.
#pragma once

#include <cstddef>

#include "runtime/sampling/token_history.h"

namespace sotto {

inline constexpr size_t kMaxGuardWindow = 256;

// 0: not at all, 1: entirely, of the newest `window` tokens, n of them, at most
// kMaxGuardWindow: the mean of
//   max(0, 1 - 2 d / n), d distinct tokens: half of the tokens of a text come twice anyway;
//   1 - b / (n - 1), b distinct pairs of neighbours;
//   min(1, 2 s / n), s the longest end of the text that also stands earlier in it.
// 0 where n is less than 8. Needs no memory but the stack.
float repetition_severity(const TokenHistory& history, size_t window);

}  // namespace sotto
