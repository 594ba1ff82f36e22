// Stages that add to the logits of tokens named by the caller. A sum of infinities of both
// signs is NaN, and so -infinity.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/generated/params.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/token_history.h"

namespace sotto {

// l += bias, for each entry.
void add_bias(Candidates& candidates, std::span<const TokenBias> biases);

// l += bias of the last token of each sequence, where the ones before it have just come.
void add_sequence_bias(Candidates& candidates, std::span<const SequenceBias> biases, const TokenHistory& history);

// l_end += |l_end| (factor^tokens - 1), finite: exponential decay of the length after
// `tokens` tokens too many (transformers' ExponentialDecayLengthPenalty).
void raise_end(Candidates& candidates, int32_t end_token, float factor, uint64_t tokens);

// base^exponent >= 0 by repeated squaring, at most the largest float.
double bounded_power(double base, uint64_t exponent);

}  // namespace sotto
