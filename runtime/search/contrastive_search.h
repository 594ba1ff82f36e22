// Contrastive search (Su et al. 2022): of the k likeliest tokens the one with the largest
// (1 - alpha) p - alpha max cos(h, h_j), where h is its hidden state and h_j those before.
#pragma once

#include "runtime/search/search_run.h"

namespace sotto {

// One result, in the memory.
Status search_contrastively(const SearchInput& input, const SearchParams& params, SearchMemory* memory,
                            uint32_t* count);

}  // namespace sotto
