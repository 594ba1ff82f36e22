#include "converters/tokenizers/characters.h"

#include <algorithm>
#include <iterator>

namespace sotto {

CharacterSet range_set(uint32_t first, uint32_t last) { return {first, last + 1}; }

CharacterSet complement(const CharacterSet& set) {
  const CharacterSet all = range_set(0, kCodePointEnd - 1);
  CharacterSet result;
  std::set_symmetric_difference(set.begin(), set.end(), all.begin(), all.end(), std::inserter(result, result.end()));
  return result;
}

CharacterSet unite(const CharacterSet& a, const CharacterSet& b) {
  CharacterSet result;
  bool in_a = false;
  bool in_b = false;
  for (auto next_a = a.begin(), next_b = b.begin(); next_a != a.end() || next_b != b.end();) {
    const uint32_t point = next_b == b.end() || (next_a != a.end() && *next_a < *next_b) ? *next_a : *next_b;
    const bool was_inside = in_a || in_b;
    if (next_a != a.end() && *next_a == point) {
      in_a = !in_a;
      ++next_a;
    }
    if (next_b != b.end() && *next_b == point) {
      in_b = !in_b;
      ++next_b;
    }
    if ((in_a || in_b) != was_inside) result.push_back(point);
  }
  return result;
}

bool contains(const CharacterSet& set, uint32_t code_point) {
  return (std::upper_bound(set.begin(), set.end(), code_point) - set.begin()) % 2 == 1;
}

}  // namespace sotto
