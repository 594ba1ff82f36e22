// Divides a block of the caller's memory into aligned arrays. A class describes its arrays in one layout function,
// which runs twice: over an empty arena to compute the size, and over the real block to place the arrays. Size and
// placement therefore cannot disagree.
//
//   void Table::layout(Arena& arena, size_t count) { keys_ = arena.take<float>(count); }
//   ...
//   Arena measure;
//   table.layout(measure, 1000);  // measure.size() is now 4032: 4,000 bytes, rounded up to a multiple of 64
//   Arena arena(memory);
//   table.layout(arena, 1000);  // keys_ is now a part of the memory
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/sizes.h"

namespace sotto {

inline constexpr size_t kMemoryAlignment = 64;

// Returns a * b, or SIZE_MAX if that overflows. Arena::take() rejects SIZE_MAX.
constexpr size_t saturating_product(size_t a, size_t b) {
  size_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

class Arena {
 public:
  // Makes an arena that measures: take() returns null pointers and only adds up sizes.
  Arena() = default;
  // Makes an arena that places objects from `base` on, which is aligned to kMemoryAlignment.
  explicit Arena(void* base) : base_(static_cast<uint8_t*>(base)) {}

  // Reserves `count` elements on a boundary of kMemoryAlignment.
  template <typename T>
  T* take(size_t count) {
    static_assert(alignof(T) <= kMemoryAlignment);
    uint8_t* address = base_ == nullptr ? nullptr : base_ + size_;
    if (count > (SIZE_MAX - size_ - kMemoryAlignment) / sizeof(T)) {
      overflowed_ = true;
      return nullptr;
    }
    size_ = align_up(size_ + count * sizeof(T), kMemoryAlignment);
    return reinterpret_cast<T*>(address);
  }

  // Calls each function with an arena that begins here. The arrays of all functions share one range of memory, and this
  // arena continues after the largest. Only the arrays of one function may be in use at a time.
  template <typename... Layouts>
  void overlay(Layouts... layouts) {
    const Arena begin = *this;
    const auto add = [&](auto layout) {
      Arena arena = begin;
      layout(arena);
      size_ = size_ < arena.size_ ? arena.size_ : size_;
      overflowed_ = overflowed_ || arena.overflowed_;
    };
    (add(layouts), ...);
  }

  size_t size() const { return size_; }
  // The total size can exceed SIZE_MAX on 32-bit hosts.
  bool overflowed() const { return overflowed_; }

 private:
  uint8_t* base_ = nullptr;
  size_t size_ = 0;
  bool overflowed_ = false;
};

}  // namespace sotto
