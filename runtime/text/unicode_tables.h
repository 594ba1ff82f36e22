// The character classes of GPT-2's split pattern.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto {

// The classes that the split pattern distinguishes.
enum class CharacterClass : uint8_t {
  kOther = 0,
  kLetter = 1,  // \p{L}
  kNumber = 2,  // \p{N}
  kSpace = 3,   // \s
};

// A two-stage table: code point / 256 selects a block of eight words with two bits per character. All code points after
// the last block are kOther.
inline constexpr size_t kCharacterBlockCount = 804;
extern const uint8_t kCharacterBlocks[kCharacterBlockCount];
extern const uint64_t kCharacterClasses[];

inline CharacterClass character_class(uint32_t code_point) {
  if (code_point / 256 >= kCharacterBlockCount) return CharacterClass::kOther;
  const uint64_t* block = kCharacterClasses + 8 * size_t{kCharacterBlocks[code_point / 256]};
  return static_cast<CharacterClass>(block[code_point / 32 % 8] >> 2 * (code_point % 32) & 3);
}

}  // namespace sotto
