// Finds where a given length of text ends in a list of tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/utf8.h"

namespace sotto {

// The first `byte_count` bytes of a token, after all tokens before it. Example: the text "Hell" of the tokens "Hel" and
// "lo" ends at {1, 1}.
struct TextPlace {
  uint64_t token;
  size_t byte_count;
};

// The bytes of a token, the first `healed` of which already belong to the text before it.
struct TokenText {
  std::span<const char> bytes;
  size_t healed = 0;
};

// Finds the place in the tokens [first, end) after which their text has `size` bytes, and sets `*length` to the size of
// the text before that place. Returns `end` if the text of all tokens is shorter. text_of(i) returns the TokenText of
// token i, and is called once per token, in order. `characters` is the state before the first token.
template <typename TextOf>
TextPlace find_text_place(uint64_t first, uint64_t end, Utf8Stream characters, uint64_t size, TextOf text_of,
                          uint64_t* length) {
  constexpr size_t kReplacementBytes = 3;  // of U+FFFD
  *length = 0;
  for (uint64_t i = first; i < end; ++i) {
    const TokenText token = text_of(i);
    for (size_t b = 0; b < token.bytes.size(); ++b) {
      if (b >= token.healed && *length >= size) return {i, b};
      char text[Utf8Stream::output_bound(1)];
      const bool is_inside = characters.has_incomplete();
      const size_t grown = characters.append(token.bytes.subspan(b, 1), text);
      if (b < token.healed) continue;
      // This byte begins another character, so an incomplete one before it has become U+FFFD.
      const bool replaces = is_inside && (grown > kReplacementBytes || characters.has_incomplete()) && grown > 0;
      if (replaces && *length + kReplacementBytes == size) return {i, b};
      *length += grown;
    }
  }
  return {end, 0};
}

}  // namespace sotto
