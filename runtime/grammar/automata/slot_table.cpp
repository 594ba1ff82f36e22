#include "runtime/grammar/automata/slot_table.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

namespace sotto {

void SlotTable::lay_out(Arena& arena, uint32_t count) {
  const uint32_t slots = std::bit_ceil(std::max(count + count / 2 + 1, 16u));
  mask_ = slots - 1;
  is_narrow_ = count <= UINT16_MAX;
  narrow_ = arena.take<uint16_t>(is_narrow_ ? slots : 0);
  wide_ = arena.take<uint32_t>(is_narrow_ ? 0 : slots);
}

void SlotTable::clear() {
  const size_t slots = size_t{mask_} + 1;
  if (is_narrow_) {
    std::memset(narrow_, 0, slots * sizeof *narrow_);
  } else {
    std::memset(wide_, 0, slots * sizeof *wide_);
  }
}

}  // namespace sotto
