// Stages that make tokens of the window less likely, by the weights that PastTokens::weigh
// gives: of a token's newest occurrence w, and of all its occurrences together c.
#pragma once

#include <span>

#include "runtime/sampling/candidates.h"
#include "runtime/sampling/token_table.h"

namespace sotto {

// With r = 1 + w (penalty - 1): l > 0 ? l / r : l * r (Keskar et al. 2019).
void repetition_penalty(Candidates& candidates, std::span<const PastToken> window, float penalty);

// l -= c * penalty, as OpenAI's frequency_penalty.
void frequency_penalty(Candidates& candidates, std::span<const PastToken> window, float penalty);

// l -= w * penalty, as OpenAI's presence_penalty.
void presence_penalty(Candidates& candidates, std::span<const PastToken> window, float penalty);

// The penalty that the guard makes of `penalty` >= 1: the larger the severity, 0 ... 1, the
// nearer to `limit`.
float guarded_penalty(float penalty, float limit, float severity);

}  // namespace sotto
