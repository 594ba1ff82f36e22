// The end of the chain: selecting one of the remaining tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/sampling/candidates.h"
#include "runtime/sampling/chain.h"

namespace sotto {

// The independent streams of random numbers within one draw.
enum class DrawLane : uint32_t { kSelection = 0, kXtc = 1, kGumbel = 2 };

// Returns 64 uniform random bits for this draw.
uint64_t draw_bits(const StageInput& input, DrawLane lane);

// Returns the token that `params.selection` selects. The selection may drop candidates. The set need not be complete
// (Candidates::is_complete) before or after the call.
int32_t select(Candidates& candidates, const StageInput& input, SamplerState* state);

// Changes the candidates, a complete set, as select() does before it draws: Mirostat truncates them, and adaptive-p
// reweighs them.
void apply_selection(Candidates& candidates, const StageInput& input);

// Returns the most likely token, and the lowest id among equals.
int32_t select_greedy(const Candidates& candidates);

// The Gumbel-max trick (gumbel_max.h): returns the argmax of l / T - ln(-ln u). The uniform number u is a function of
// `seed` and the token id and does not depend on the other candidates. If every logit is -infinity, returns the lowest
// id.
int32_t select_gumbel(const Candidates& candidates, uint64_t seed);

// Draws in proportion to probability, by inversion: returns the first token, in the order of ids, where the running sum
// of weights exceeds random / 2^64 of the total. A token with less than 2^-41 of the largest probability is never
// drawn. If every logit is -infinity, returns the lowest id.
int32_t select_multinomial(Candidates& candidates, uint64_t random);

// Mirostat (Basu et al. 2021) truncates the distribution at a threshold mu, and adapts mu so that the surprise of the
// selected tokens stays near mirostat_tau bits. mu is part of the sampler's state.
//
// Version 1 keeps the k most likely of N tokens:
//   k = ((s - 1) 2^mu / (1 - N^(1-s)))^(1/s).
// s is the exponent of Zipf's law, fitted to the m most likely tokens:
//   s = sum t_i b_i / sum t_i^2, where t_i = ln((i+1)/i) and b_i = ln(p_i / p_i+1).
void truncate_mirostat(Candidates& candidates, uint32_t m, float mu);

// Version 2 keeps the tokens with a surprise -log2 p of at most mu.
void truncate_mirostat_v2(Candidates& candidates, float mu);

// Returns mu - eta (S - tau), where S is the surprise of the selected token in the truncated distribution.
float next_mu(Candidates& candidates, int32_t selected, const SamplerParams& params, float mu);

// Adaptive-p (MrJackSpade 2025, as in llama.cpp) prefers tokens with a probability near a goal. The goal moves, so that
// the mean probability of the selected tokens stays near the target.
struct AdaptiveP {
  float target;
  float decay;

  // Initializes the mean to the target.
  void begin(SamplerState* state) const;
  // Replaces l by 5 - 10 x^2 / (1 + x) with x = |p - goal| / 0.3, where the goal is 2 target - mean, limited to 0
  // ... 1. Logits of -infinity stay. Writes the previous p of each candidate to `before`.
  void apply(Candidates& candidates, const SamplerState& state, float* before) const;
  // Adds to the mean the probability that the selected token had before apply().
  void record(float probability, SamplerState* state) const;
};

}  // namespace sotto
