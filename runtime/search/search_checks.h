// Whether a search makes sense, settled before anything is evaluated.
#pragma once

#include <cstdint>

#include "runtime/search/search_input.h"
#include "runtime/search/search_memory.h"
#include "runtime/search/search_params.h"

namespace sotto {

// Checks the parameters and puts the defaults in place.
Status resolve_search(const SearchParams& given, const SearchShape& shape, const SearchInput& input,
                      uint32_t vocabulary_size, SearchParams* params, Error* error);

}  // namespace sotto
