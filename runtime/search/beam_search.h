// Beam search as in the package transformers, and three variants: stochastic beams, drawn without replacement (Kool et
// al. 2019); groups that avoid each other's tokens (Vijayakumar et al. 2018, "Diverse Beam Search"); and phrases that
// must appear (Post and Vilar 2018).
//
// Each step computes ln p for every running sequence. The best tokens of all beams of a group enter two bounded lists:
// all candidates, and those that do not end their sequence. From the lists, the step ends or continues sequences, and
// then evaluates the new tokens in one batch.
#pragma once

#include "runtime/search/search_run.h"

namespace sotto {

// Stores the results in the memory, best first, and their number in `*count`.
Status search_beams(const SearchInput& input, const SearchParams& params, SearchMemory* memory, uint32_t* count);

}  // namespace sotto
