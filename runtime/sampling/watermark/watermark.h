// Watermarks mark text so that a holder of the key can distinguish it from chance: see README.md here. The
// hashes are specified in watermark_hash.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/past_tokens.h"
#include "runtime/sampling/token_history.h"

namespace sotto {

// Fails because the build has no watermarks.
Status fail_without_watermark(Error* error);

// l += delta for the tokens of the green list (Kirchenbauer et al. 2023, "A Watermark for Large Language
// Models"; self hash and anchors: 2024, "On the Reliability of Watermarks for Large Language Models"). Does
// nothing if the history is shorter than the context, or the scheme has no list.
void add_green_bias(Candidates& candidates, const WatermarkParams& params, const TokenHistory& history);

// Returns whether the scheme replaces the selection.
bool replaces_selection(WatermarkScheme scheme);

// Writes the seed for the next token of a scheme that replaces the selection. Returns false if there is none:
// the history is too short, or the context has already led to a generated token, whose successors would
// otherwise repeat (repeated context masking, Dathathri et al. 2024).
bool watermark_seed(const WatermarkParams& params, PastTokens& past, uint64_t* seed);

// Tournament sampling (Dathathri et al. 2024, "Scalable watermarking for identifying large language model
// outputs", two tokens per match): returns the index of the winner of `layers` rounds, in the limit of the
// whole distribution. With q the probability of g = 1, a round makes p (1 + g - q) of p. `random` draws from
// the p of the last round.
size_t select_tournament(Candidates& candidates, uint64_t seed, uint32_t layers, uint64_t random);

// Returns the index of the token with the largest r^(1/p) (Aaronson 2022), the lowest id among equals.
size_t select_gumbel_watermark(Candidates& candidates, uint64_t seed);

}  // namespace sotto
