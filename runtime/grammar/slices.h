// Token sets prepared with the vocabulary: texts of at most n characters that may stand
// inside a JSON string unescaped, so that a mask can start from thousands of tokens at once.
#pragma once

#include <cstdint>
#include <span>

namespace sotto {

inline constexpr uint32_t kSliceCount = 8;
// Characters in a slice's tokens; the last has no limit. Each slice contains the one before.
inline constexpr uint32_t kSliceCharacters[kSliceCount] = {2, 4, 6, 8, 10, 13, 16, UINT32_MAX};
inline constexpr uint8_t kNoSlice = 0xFF;

// States inside a UTF-8 character; 0 is between characters.
inline constexpr uint32_t kSliceStates = 8;
inline constexpr uint8_t kSliceDead = 0xFF;
uint8_t slice_step(uint32_t state, uint8_t byte);

// The first slice that contains the text; kNoSlice if none does.
uint8_t slice_of(std::span<const char> text);

}  // namespace sotto
