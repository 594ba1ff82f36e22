// Stages that drop unlikely tokens. Among equal logits the lower id is the likelier.
// Probabilities p are those of the tokens still in play, H is their entropy. Each keeps at
// least `min_keep` tokens, 1 or more, or all if there are fewer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/sampling/candidates.h"

namespace sotto {

// The k most likely stay; 0: all.
void top_k(Candidates& candidates, size_t k, size_t min_keep = 1);

// The shortest prefix of the sorted tokens whose probability reaches p stays (Holtzman et
// al. 2020); 1: all.
void top_p(Candidates& candidates, float p, size_t min_keep = 1);

// p decay^step, but no less than `least`.
float decayed_top_p(float p, float decay, float least, uint32_t step);

// p >= ratio * max p stay (Nguyen et al. 2024); 0: all.
void min_p(Candidates& candidates, float ratio, size_t min_keep = 1);

// p >= least stay; more than 1: the most likely.
void keep_probable(Candidates& candidates, double least, size_t min_keep);

// p >= a * (max p)^2 stay; 0: all.
void top_a(Candidates& candidates, float a, size_t min_keep = 1);

// p >= epsilon stay (Hewitt et al. 2022); 0: all.
void epsilon_cutoff(Candidates& candidates, float epsilon, size_t min_keep = 1);

// p >= min(eta, sqrt(eta) e^-H) stay (Hewitt et al. 2022); 0: all.
void eta_cutoff(Candidates& candidates, float eta, size_t min_keep = 1);

// l / T >= max - n sigma stay, with the standard deviation of all finite l / T (Tang et al.
// 2024); 0: all.
void top_n_sigma(Candidates& candidates, float n, size_t min_keep = 1);

// The longest prefix of the sorted tokens whose -sum p ln p is at most h H stays (Potraghloo
// et al. 2025); 1: all.
void top_h(Candidates& candidates, float h, size_t min_keep = 1);

// The tokens whose -ln p is nearest to H, as many as it takes to reach the probability P, stay
// (Meister et al. 2023); 1: all. `min_keep` counts in that order.
void typical(Candidates& candidates, float mass, size_t min_keep = 1);

// Of the sorted p, with d_i = |(p_i - p_i+1) - (p_i+1 - p_i+2)|: the longest prefix whose sum
// of d is at most z of the whole stays (Phan 2019); 1, or without any d: all.
void tail_free(Candidates& candidates, float z, size_t min_keep = 1);

// All tokens with p >= threshold but the least likely of them go, if that leaves min_keep
// (p-e-w 2024).
void xtc(Candidates& candidates, float threshold, size_t min_keep = 1);

}  // namespace sotto
