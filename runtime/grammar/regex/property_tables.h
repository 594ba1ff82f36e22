// The character properties of \p{...}.
#pragma once

#include <cstdint>

namespace sotto {

enum class RegexPropertyKind : uint8_t { kCategory, kScript, kBinary };

// A property and the position of its intervals.
struct RegexProperty {
  const char* short_name;
  const char* name;
  RegexPropertyKind kind;
  uint32_t first;  // index of its first byte in kRegexPropertyIntervals
  uint32_t size;
};

inline constexpr uint32_t kRegexPropertyCount = 80;
extern const RegexProperty kRegexProperties[kRegexPropertyCount];
// Intervals, each stored as the gap before it and its length - 1, as LEB128 numbers.
extern const uint8_t kRegexPropertyIntervals[];

}  // namespace sotto
