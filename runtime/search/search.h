// Searches for continuations of a session's text: beam search, parallel samples, contrastive search. README.md
// describes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/generated/params.h"
#include "runtime/search/search_run.h"

namespace sotto {

class Search {
 public:
  // Lays out the memory for searches within these limits.
  void layout(Arena& arena, const SearchSizes& sizes) { memory_.layout(arena, sizes); }

  // Validates the parameters and the input. Replaces defaults by actual values in `*params`.
  Status resolve(const SearchInput& input, uint32_t vocabulary_size, const SearchParams& given, SearchParams* params,
                 Error* error) const;

  // Runs the search with parameters that resolve() has returned. The results are sorted, best first, and valid until
  // the next call. After kStopCancelled and kStopCallback, they are those found so far.
  Status run(const SearchInput& input, const SearchParams& params, std::span<const SearchSequence>* sequences,
             Error* error);

  // During on_step, returns the number of the parent of the reported sequence, in the previous step.
  uint32_t step_parent() const { return memory_.step_parent; }

 private:
  Status run_mode(const SearchInput& input, const SearchParams& params, uint32_t* count, Error* error);

  SearchMemory memory_;
};

}  // namespace sotto
