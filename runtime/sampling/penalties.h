// Stages that make tokens of the past less likely.
#pragma once

#include <cstddef>

#include "runtime/sampling/candidates.h"
#include "runtime/sampling/token_history.h"

namespace sotto {

// l > 0 ? l / penalty : l * penalty, once for each distinct token among the newest
// `window` of the history (Keskar et al. 2019).
void repetition_penalty(Candidates& candidates, const TokenHistory& history, size_t window,
                        float penalty);

}  // namespace sotto
