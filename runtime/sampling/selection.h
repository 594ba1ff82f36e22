// Stages that end the chain: one token of those left.
#pragma once

#include <cstdint>

#include "runtime/sampling/candidates.h"

namespace sotto {

// The most likely; the lowest id of equals.
int32_t select_greedy(const Candidates& candidates);

// Drawn in proportion to probability by inversion: the first token, in order of id, at
// which the sum of the weights exceeds random / 2^64 of the whole. A token below 2^-41 of
// the most likely is never drawn. If every logit is -infinity, the lowest id.
int32_t select_multinomial(Candidates& candidates, uint64_t random);

}  // namespace sotto
