// Contrastive search (Su et al. 2022, "A Contrastive Framework for Neural Text Generation"). Among the k most likely
// tokens, chooses the one with the largest (1 - alpha) p - alpha max_j cos(h, h_j), where h is the token's hidden
// state, and the h_j are the hidden states of the tokens before it.
//
// Example: with alpha = 0.6, a token with p = 0.5 that repeats an earlier hidden state (cos = 1) scores 0.2 - 0.6 =
// -0.4. A token with p = 0.2 and cos = 0.3 scores 0.08 - 0.18 = -0.1 and is chosen.
#pragma once

#include "runtime/search/search_run.h"

namespace sotto {

// Stores one result in the memory.
Status search_contrastively(const SearchInput& input, const SearchParams& params, SearchMemory* memory,
                            uint32_t* count);

}  // namespace sotto
