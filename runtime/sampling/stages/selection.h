// The end of the chain: one token of those left.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/sampling/candidates.h"
#include "runtime/sampling/chain.h"

namespace sotto {

// Streams of random numbers within one draw.
enum class DrawLane : uint32_t { kSelection = 0, kXtc = 1, kGumbel = 2 };

// 64 uniform bits of this draw.
uint64_t draw_bits(const StageInput& input, DrawLane lane);

// The index of the token that `params.selection` picks, of the candidates, from which it
// may have dropped some.
size_t select(Candidates& candidates, const StageInput& input, SamplerState* state);

// Whether that is a multinomial draw and nothing else.
bool only_draws(const SamplerParams& params);

// The most likely; the lowest id of equals.
size_t select_greedy(const Candidates& candidates);

// The largest l / T + G with G = -ln -ln u, where u is a uniform number that `seed` and the
// token's id give (Gumbel 1954): a token has the same luck whatever else is in play. Found as
// the least -ln(u) / p, which is the same. If every logit is -infinity, the lowest id.
size_t select_gumbel(Candidates& candidates, uint64_t seed);

// Drawn in proportion to probability by inversion: the first token, in order of id, at
// which the sum of the weights exceeds random / 2^64 of the whole. A token below 2^-41 of
// the most likely is never drawn. If every logit is -infinity, the lowest id.
size_t select_multinomial(Candidates& candidates, uint64_t random);

}  // namespace sotto
