// Contrastive search (Su et al. 2022, "A Contrastive Framework for Neural Text Generation"): chooses the token among
// the k most likely ones with the largest (1 - alpha) p - alpha max cos(h, h_j), where h is its hidden state and h_j
// are the hidden states of the tokens before it.
#pragma once

#include "runtime/search/search_run.h"

namespace sotto {

// Stores one result in the memory.
Status search_contrastively(const SearchInput& input, const SearchParams& params, SearchMemory* memory,
                            uint32_t* count);

}  // namespace sotto
