// Searches over sequences that continue a session's text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/search/search_input.h"
#include "runtime/search/search_memory.h"
#include "runtime/search/search_params.h"

namespace sotto {

class Search {
 public:
  // Takes the memory of all searches of this shape from `arena`, which may only measure.
  void lay_out(const SearchShape& shape, Arena* arena) { memory_.lay_out(shape, arena); }

  // What run() checks before it evaluates anything.
  Status check(const SearchInput& input, uint32_t vocabulary_size, const SearchParams& params, Error* error) const;

  // Checks everything, evaluates, and leaves the results, best first, in the memory until the
  // next call. kStopCancelled and kStopCallback: the sequences as far as they came.
  Status run(const SearchInput& input, uint32_t vocabulary_size, const SearchParams& params,
             std::span<const SearchSequence>* sequences, Error* error);

 private:
  Status run_mode(const SearchInput& input, const SearchParams& params, uint32_t* count);

  SearchMemory memory_;
};

}  // namespace sotto
