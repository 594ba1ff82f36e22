// A piece of text to tokenize. Tokenizers may add a space before or after it, which is not stored in the text, but
// which all functions treat as an ordinary byte.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/utf8.h"

namespace sotto {

struct Word {
  std::span<const char> bytes;
  bool space_before = false;
  bool space_after = false;

  size_t size() const { return bytes.size() + (space_before ? 1 : 0) + (space_after ? 1 : 0); }

  char at(size_t index) const {
    assert(index < size());
    if (space_before && index-- == 0) return ' ';
    return index < bytes.size() ? bytes[index] : ' ';
  }

  // Returns the bytes from `begin` to `end`. Requires begin < end.
  Word slice(size_t begin, size_t end) const {
    assert(begin < end && end <= size());
    const size_t lead = space_before ? 1 : 0;
    const size_t first = std::max(begin, lead) - lead;
    const size_t last = std::min(std::max(end, lead) - lead, bytes.size());
    return {first < last ? bytes.subspan(first, last - first) : bytes.first(0), space_before && begin == 0,
            space_after && end == size()};
  }
  // A character and its size in bytes.
  struct Character {
    uint32_t code_point;
    size_t size;
  };
  // Returns the character that begins at `index`. Characters of several bytes do not extend into the spaces.
  Character character_at(size_t index) const {
    const auto byte = static_cast<uint8_t>(at(index));
    if (byte < 0x80) return {byte, 1};
    const size_t offset = index - (space_before ? 1 : 0);
    const Utf8Character character = decode_utf8(bytes.data() + offset, bytes.size() - offset);
    return {character.code_point, character.size};
  }

  // Returns the part from `begin` on, which may be empty.
  Word from(size_t begin) const { return begin == size() ? Word{bytes.last(0)} : slice(begin, size()); }
};

}  // namespace sotto
