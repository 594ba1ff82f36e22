// Mirostat (Basu et al. 2021): keeps the surprise of what is picked near tau bits, by cutting
// the distribution off where its state mu says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/sampling/candidates.h"

namespace sotto {

struct MirostatParams {
  float tau;
  float eta;
  uint32_t m;
};

// Keeps the k most likely, with k = ((s - 1) 2^mu / (1 - N^(1-s)))^(1/s), where s is the
// exponent of Zipf's law that fits the m most likely best: with t_i = ln((i+1)/i) and
// b_i = ln(p_i / p_i+1), sum t b / sum t^2.
void cut_mirostat(Candidates& candidates, uint32_t m, float mu);

// The second version: keeps the tokens whose surprise -log2 p is at most mu.
void cut_mirostat_v2(Candidates& candidates, float mu);

// mu -= eta (S - tau), with the surprise S of the token picked, among those kept.
float next_mu(Candidates& candidates, size_t picked, const MirostatParams& params, float mu);

}  // namespace sotto
