// SOTTO_FEATURE_SEARCH=OFF.
#include "runtime/session/session.h"

namespace sotto {

Status Session::search(const SearchParams&, std::span<const SearchSequence>*, Error* error) {
  return fail(error, Status::kUnsupported, "searches: this library is built with SOTTO_FEATURE_SEARCH=OFF");
}

}  // namespace sotto
