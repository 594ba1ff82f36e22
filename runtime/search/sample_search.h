// Independent continuations of one text, drawn by the sampler with random numbers of their
// own, all in one batch a step; then in order of a choice: best of n, or a vote by minimum
// Bayes risk.
#pragma once

#include "runtime/search/search_run.h"

namespace sotto {

// `*count` results, best first, in the memory.
Status search_samples(const SearchInput& input, const SearchParams& params, SearchMemory* memory, uint32_t* count);

}  // namespace sotto
