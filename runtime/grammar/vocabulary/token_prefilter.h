// Token sets prepared with the vocabulary, so that a mask can start from thousands of tokens
// at once: texts of at most n characters of some classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sotto {

// Changes whenever token kinds do: prepared vocabularies hold them. Sorts are in compiled
// grammars, too (kGrammarVersion).
inline constexpr uint32_t kPrefilterVersion = 2;

// Sorts of characters. What a JSON string must escape is of no sort.
inline constexpr uint32_t kCharClassCount = 5;
inline constexpr uint8_t kLowerClass = 1;
inline constexpr uint8_t kUpperClass = 2;
inline constexpr uint8_t kDigitClass = 4;  // and _
inline constexpr uint8_t kSpaceClass = 8;
inline constexpr uint8_t kOtherClass = 16;  // other ASCII, and all beyond it
inline constexpr uint8_t kAllClasses = (1u << kCharClassCount) - 1;
// Of the character that begins with the byte; 0: none.
uint8_t char_class_of(uint8_t byte);

// States inside a UTF-8 character; 0 is between characters.
inline constexpr uint32_t kUtf8States = 8;
inline constexpr uint8_t kUtf8Reject = 0xFF;
// Of characters that have a sort.
uint8_t utf8_step(uint32_t state, uint8_t byte);

// Length classes: most characters of a text. One class more is for texts outside all slices.
inline constexpr uint32_t kLengthCount = 7;
inline constexpr uint32_t kLengthCharacters[kLengthCount] = {2, 4, 6, 8, 11, 16, UINT32_MAX};

// What decides which slices hold a text: its classes, and above them its length class.
using TextSummary = uint8_t;
inline constexpr TextSummary kOutsidePrefilters = kLengthCount << kCharClassCount;
TextSummary summarize(std::span<const char> text);
// Whether a text that some slice holds ends inside a character.
bool ends_inside(std::span<const char> text);
// Of both texts: in the slices that hold them both.
constexpr TextSummary join_summaries(TextSummary a, TextSummary b) {
  constexpr uint32_t kClassBits = (1u << kCharClassCount) - 1;
  const uint32_t length = (a > b ? a : b) & ~kClassBits;
  return static_cast<TextSummary>(length | ((a | b) & kClassBits));
}

struct TokenPrefilter {
  uint8_t classes = 0;
  uint8_t length = 0;  // class

  // Also true for all subtrees of such kinds.
  bool holds(TextSummary kind) const {
    return (kind & ~classes & ((1u << kCharClassCount) - 1)) == 0 && kind >> kCharClassCount <= length;
  }
  bool operator==(const TokenPrefilter&) const = default;
};

// Writes, bit by bit, which of the kinds the slice holds. `kinds`: 64 for each word.
void fill_mask(TokenPrefilter slice, std::span<const TextSummary> kinds, uint64_t* words);
// Which of 64 kinds are of the length class.
uint64_t summaries_of_length(const TextSummary* kinds, uint8_t length);

}  // namespace sotto
