#include "runtime/session/draft_lookup.h"

#include <algorithm>

namespace sotto {

LookupMatch find_latest_match(std::span<const int32_t> text, size_t min_match, size_t max_match) {
  LookupMatch best;
  if (text.size() < 2) return best;
  const size_t end = text.size() - 1;
  const int32_t last = text[end];
  for (size_t i = end; i-- > 0 && best.size < max_match;) {
    if (text[i] != last) continue;
    const size_t most = std::min(i + 1, max_match);
    size_t size = 1;
    while (size < most && text[i - size] == text[end - size]) ++size;
    if (size >= min_match && size > best.size) best = {size, i + 1};
  }
  return best;
}

}  // namespace sotto
