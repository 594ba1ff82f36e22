// Sets of characters, for building patterns and normalizers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "converters/tokenizers/character_tables.h"

namespace sotto {

inline constexpr uint32_t kCodePointEnd = 0x110000;

// A set of characters, as the sorted code points where membership changes: [97, 123] is a to z.
using CharacterSet = std::vector<uint32_t>;

CharacterSet range_set(uint32_t first, uint32_t last);
CharacterSet complement(const CharacterSet& set);
CharacterSet unite(const CharacterSet& a, const CharacterSet& b);
bool contains(const CharacterSet& set, uint32_t code_point);

// Returns the characters whose properties satisfy `is_member`.
template <typename Predicate>
CharacterSet set_of(Predicate is_member, std::span<const uint32_t> ranges = kCharacterRanges) {
  CharacterSet set;
  bool inside = false;
  for (const uint32_t range : ranges) {
    if (is_member(range & ((1u << kPropertyBits) - 1)) == inside) continue;
    inside = !inside;
    set.push_back(range >> kPropertyBits);
  }
  if (inside) set.push_back(kCodePointEnd);
  return set;
}

}  // namespace sotto
