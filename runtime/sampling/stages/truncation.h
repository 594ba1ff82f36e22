// Stages that drop unlikely tokens. Among equal logits, the lower id counts as the more likely one. Probabilities p are
// normalized over the remaining tokens, and H is their entropy. Every stage keeps at least `min_keep` tokens (1 or
// more), or all tokens if there are fewer. "off" is the parameter value that disables the stage.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/sampling/candidates.h"

namespace sotto {

// Top-k (Fan et al. 2018): keeps the k most likely tokens; off: 0.
void top_k(Candidates& candidates, size_t k, size_t min_keep = 1);

// Top-p or nucleus sampling (Holtzman et al. 2020): keeps the shortest prefix of the sorted tokens whose probabilities
// sum to at least p; off: 1.
void top_p(Candidates& candidates, float p, size_t min_keep = 1);

// Returns p decay^step, but no less than `min_p`.
float decayed_top_p(float p, float decay, float min_p, uint32_t step);

// Min-p (Nguyen et al. 2024): keeps tokens with p >= ratio * max p; off: 0.
void min_p(Candidates& candidates, float ratio, size_t min_keep = 1);

// Keeps tokens with p >= min_p, or only the most likely token if min_p > 1.
void keep_probable(Candidates& candidates, double min_p, size_t min_keep);

// Top-a (BlinkDL 2021): keeps tokens with p >= a * (max p)^2; off: 0.
void top_a(Candidates& candidates, float a, size_t min_keep = 1);

// Epsilon sampling (Hewitt et al. 2022): keeps tokens with p >= epsilon; off: 0.
void epsilon_cutoff(Candidates& candidates, float epsilon, size_t min_keep = 1);

// Eta sampling (Hewitt et al. 2022): keeps tokens with p >= min(eta, sqrt(eta) e^-H); off: 0.
void eta_cutoff(Candidates& candidates, float eta, size_t min_keep = 1);

// Top-n-sigma (Tang et al. 2024): keeps tokens with l / T >= max - n sigma, where sigma is the standard deviation of
// all finite l / T; off: 0.
void top_n_sigma(Candidates& candidates, float n, size_t min_keep = 1);

// Top-h (Potraghloo et al. 2025): keeps the longest prefix of the sorted tokens whose -sum p ln p is at most h H; off:
// 1.
void top_h(Candidates& candidates, float h, size_t min_keep = 1);

// Locally typical sampling (Meister et al. 2023): keeps the tokens whose -ln p is closest to H, as many as are needed
// to reach the probability `mass`; off: 1. `min_keep` counts in this order.
void typical(Candidates& candidates, float mass, size_t min_keep = 1);

// Tail-free sampling (Phan 2019): for the sorted p, let d_i = |(p_i - p_i+1) - (p_i+1 - p_i+2)|. Keeps the longest
// prefix whose sum of d is at most z times the total, or all tokens if the total is 0; off: 1.
void tail_free(Candidates& candidates, float z, size_t min_keep = 1);

// XTC, "exclude top choices" (p-e-w 2024): of the tokens with p >= threshold, keeps only the least likely one, provided
// that at least min_keep tokens remain.
void xtc(Candidates& candidates, float threshold, size_t min_keep = 1);

}  // namespace sotto
