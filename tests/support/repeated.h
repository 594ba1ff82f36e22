// Long texts for tests.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sotto {

// Returns `count` copies of a text, one after the other.
inline std::string repeated(std::string_view text, size_t count) {
  std::string copies;
  copies.reserve(text.size() * count);
  for (size_t i = 0; i < count; ++i) copies += text;
  return copies;
}

}  // namespace sotto
