// Watermarks: text whose tokens can be told from chance by who knows the key. The hashes are
// in watermark_hash.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/past_tokens.h"
#include "runtime/sampling/token_history.h"

namespace sotto {

// kUnsupported for any scheme in a library without watermarks.
Status check_watermark_built(const WatermarkParams& params, Error* error);

// l += delta for the tokens of the green list (Kirchenbauer et al. 2023, "A Watermark for
// Large Language Models"; self-hashed and anchored: 2024, "On the Reliability of Watermarks
// for Large Language Models"). Nothing where the history is shorter than the context, and
// with schemes that have no list.
void add_green_bias(Candidates& candidates, const WatermarkParams& params, const TokenHistory& history);

// Whether the scheme takes the selection's place.
bool replaces_selection(WatermarkScheme scheme);

// The seed for the next token of a scheme that replaces the selection. False where there is
// none: too short a history, or the context has already led to a generated token, whose
// successors would otherwise be the same again (Dathathri et al. 2024, repeated context
// masking).
bool watermark_seed(const WatermarkParams& params, PastTokens& past, uint64_t* seed);

// Tournament sampling (Dathathri et al. 2024, "Scalable watermarking for identifying large
// language model outputs", two tokens a match): what wins `layers` rounds, in the limit of
// the whole distribution. With q the part of p on tokens with g = 1, a round makes p (1 + g - q)
// of p. `random` draws from the last round's p. An index.
size_t select_tournament(Candidates& candidates, uint64_t seed, uint32_t layers, uint64_t random);

// The token with the largest r^(1/p) (Aaronson 2022), the lowest id of equals. An index.
size_t select_gumbel_watermark(Candidates& candidates, uint64_t seed);

}  // namespace sotto
