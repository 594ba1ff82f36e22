// Stages that drop unlikely tokens. Each keeps at least one; among equal logits the lower
// id is the likelier. Probabilities are those of the tokens still in play.
#pragma once

#include <cstddef>

#include "runtime/sampling/candidates.h"

namespace sotto {

// The k most likely stay; 0: all.
void top_k(Candidates& candidates, size_t k);

// The shortest prefix of the sorted tokens whose probability reaches p stays (Holtzman et
// al. 2020); 1: all.
void top_p(Candidates& candidates, float p);

// Tokens with at least `ratio` of the largest probability stay (Nguyen et al. 2024); 0: all.
void min_p(Candidates& candidates, float ratio);

}  // namespace sotto
