// Contrastive search (Su et al. 2022, "A Contrastive Framework for Neural Text Generation"). Of the k most likely
// tokens, chooses the one with the largest (1 - alpha) p - alpha max_j cos(h, h_j), where h is the token's hidden state
// and h_j are the hidden states of the tokens before it.
#pragma once

#include "runtime/search/search_run.h"

namespace sotto {

// Stores one result in the memory.
Status search_contrastively(const SearchInput& input, const SearchParams& params, SearchMemory* memory,
                            uint32_t* count);

}  // namespace sotto
