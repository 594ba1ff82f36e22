// Stages that drop unlikely tokens. Among equal logits, the lower id counts as the more likely one. Probabilities p are
// normalized over the remaining tokens, and H is their entropy. Every stage keeps at least `min_keep` tokens (1 or
// more), or all tokens if there are fewer.
#pragma once

#include <cstddef>

#include "runtime/sampling/stages/stage.h"

namespace sotto {

// Keeps tokens with p >= min_p, or only the most likely token if min_p > 1.
void keep_probable(Candidates& candidates, double min_p, size_t min_keep);

}  // namespace sotto
