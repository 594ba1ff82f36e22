// Searches from a session's stream.
#pragma once

#include "runtime/search/search.h"
#include "runtime/session.h"

namespace sotto {

// Takes the memory for searches of a session from `arena`, which may only measure: nothing
// where it has no sequences.
void lay_out_search(const SessionParams& params, Search* search, Arena* arena);

// Continues the stream, which stays as it is, but for held tokens, which are taken back. As
// Search::run().
Status run_search(Session* session, Search* search, const SearchParams& params,
                  std::span<const SearchSequence>* sequences, Error* error);

}  // namespace sotto
