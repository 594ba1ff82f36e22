// The character properties of \p{...}.
#pragma once

#include <cstdint>

namespace sotto {

enum class RegexPropertyKind : uint8_t { kCategory, kScript, kBinary };

struct RegexProperty {
  const char* short_name;
  const char* name;
  RegexPropertyKind kind;
  uint32_t first;  // byte of kRegexPropertyIntervals
  uint32_t size;
};

inline constexpr uint32_t kRegexPropertyCount = 80;
extern const RegexProperty kRegexProperties[kRegexPropertyCount];
// Intervals as the gap before each and its length - 1, in base 128: low digits first, bit 7 set on all but the last
// byte of a number (LEB128).
extern const uint8_t kRegexPropertyIntervals[];

}  // namespace sotto
