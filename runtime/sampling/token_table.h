// The distinct tokens of a window with what is known of each: open addressing in memory of
// its caller, cleared for each use in time proportional to the window.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"

namespace sotto {

struct PastToken {
  int32_t token;
  uint32_t longest;  // repetition that it would continue, tokens
  float newest;      // weight of its newest occurrence
  float sum;         // of the weights of all its occurrences
};

class TokenTable {
 public:
  // For up to `capacity` distinct tokens; over a measuring arena it only adds up.
  void place(size_t capacity, Arena& arena) {
    entries_ = arena.take<PastToken>(capacity);
    slots_ = arena.take<uint32_t>(slot_count(capacity));
  }

  // Empties the table and makes room for `count` tokens, at most the capacity.
  void clear(size_t count) {
    count_ = 0;
    mask_ = slot_count(count) - 1;
    std::fill_n(slots_, mask_ + 1, 0);
  }

  // The token's entry; a new one has `newest`, `sum` and `longest` of 0.
  PastToken& at(int32_t token) {
    size_t slot = static_cast<uint32_t>(token) * size_t{0x9E3779B1} >> 7 & mask_;
    for (; slots_[slot] != 0; slot = (slot + 1) & mask_) {
      PastToken& entry = entries_[slots_[slot] - 1];
      if (entry.token == token) return entry;
    }
    assert(count_ <= mask_ / 2);
    PastToken& entry = entries_[count_];
    entry = {token, 0, 0, 0};
    slots_[slot] = static_cast<uint32_t>(++count_);
    return entry;
  }

  // In the order of their first at().
  std::span<const PastToken> entries() const { return {entries_, count_}; }

 private:
  static size_t slot_count(size_t count) { return std::bit_ceil(2 * count); }

  PastToken* entries_ = nullptr;
  uint32_t* slots_ = nullptr;  // number of the entry, from 1; 0: free
  size_t count_ = 0;
  size_t mask_ = 0;
};

}  // namespace sotto
