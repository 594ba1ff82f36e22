// Token sets prepared with the vocabulary, so that a mask can start from thousands of tokens
// at once: texts of at most n characters of some sorts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sotto {

// Changes whenever token kinds do: prepared vocabularies hold them. Sorts are in compiled
// grammars, too (kGrammarVersion).
inline constexpr uint32_t kSliceVersion = 2;

// Sorts of characters. What a JSON string must escape is of no sort.
inline constexpr uint32_t kSortCount = 5;
inline constexpr uint8_t kLowerSort = 1;
inline constexpr uint8_t kUpperSort = 2;
inline constexpr uint8_t kDigitSort = 4;  // and _
inline constexpr uint8_t kSpaceSort = 8;
inline constexpr uint8_t kOtherSort = 16;  // other ASCII, and all beyond it
inline constexpr uint8_t kAllSorts = (1u << kSortCount) - 1;
// Of the character that begins with the byte; 0: none.
uint8_t sort_of(uint8_t byte);

// States inside a UTF-8 character; 0 is between characters.
inline constexpr uint32_t kSliceStates = 8;
inline constexpr uint8_t kSliceDead = 0xFF;
// Of characters that have a sort.
uint8_t slice_step(uint32_t state, uint8_t byte);

// Length classes: most characters of a text. One class more is for texts outside all slices.
inline constexpr uint32_t kLengthCount = 7;
inline constexpr uint32_t kLengthCharacters[kLengthCount] = {2, 4, 6, 8, 11, 16, UINT32_MAX};

// What decides which slices hold a text: its sorts, and above them its length class.
using TextKind = uint8_t;
inline constexpr TextKind kOutsideKind = kLengthCount << kSortCount;
TextKind kind_of(std::span<const char> text);
// Whether a text that some slice holds ends inside a character.
bool ends_inside(std::span<const char> text);
// Of both texts: in the slices that hold them both.
constexpr TextKind join_kinds(TextKind a, TextKind b) {
  constexpr uint32_t kSorts = (1u << kSortCount) - 1;
  const uint32_t length = (a > b ? a : b) & ~kSorts;
  return static_cast<TextKind>(length | ((a | b) & kSorts));
}

struct Slice {
  uint8_t sorts = 0;
  uint8_t length = 0;  // class

  // Also true for all subtrees of such kinds.
  bool holds(TextKind kind) const {
    return (kind & ~sorts & ((1u << kSortCount) - 1)) == 0 && kind >> kSortCount <= length;
  }
  bool operator==(const Slice&) const = default;
};

// Writes, bit by bit, which of the kinds the slice holds. `kinds`: 64 for each word.
void fill_slice(Slice slice, std::span<const TextKind> kinds, uint64_t* words);
// Which of 64 kinds are of the length class.
uint64_t kinds_of_length(const TextKind* kinds, uint8_t length);

}  // namespace sotto
