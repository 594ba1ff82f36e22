// Hash slots with open addressing: each holds a number, and zero if it is free.
#pragma once

#include <cstdint>

#include "runtime/base/arena.h"

namespace sotto {

class SlotTable {
 public:
  // For numbers up to `count`: a power of two, of which at most two thirds are used.
  void lay_out(Arena& arena, uint32_t count);
  void clear();

  uint32_t first(uint32_t hash) const { return hash & mask_; }
  uint32_t next(uint32_t slot) const { return (slot + 1) & mask_; }
  uint32_t operator[](uint32_t slot) const { return is_narrow_ ? narrow_[slot] : wide_[slot]; }
  void set(uint32_t slot, uint32_t number) {
    if (is_narrow_) {
      narrow_[slot] = static_cast<uint16_t>(number);
    } else {
      wide_[slot] = number;
    }
  }

 private:
  bool is_narrow_ = true;
  uint32_t mask_ = 0;
  uint16_t* narrow_ = nullptr;
  uint32_t* wide_ = nullptr;
};

}  // namespace sotto
