// Bits in arrays of 64-bit words: bit i is bit i % 64 of word i / 64.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace sotto {

inline bool has_bit(const uint64_t* words, size_t index) { return (words[index / 64] >> index % 64 & 1) != 0; }
inline void set_bit(uint64_t* words, size_t index) { words[index / 64] |= uint64_t{1} << index % 64; }
inline void clear_bit(uint64_t* words, size_t index) { words[index / 64] &= ~(uint64_t{1} << index % 64); }
inline void flip_bit(uint64_t* words, size_t index) { words[index / 64] ^= uint64_t{1} << index % 64; }

// The indices of the bits that are set in a word, in ascending order: for (const uint32_t bit : SetBits(word)).
class SetBits {
 public:
  class Iterator {
   public:
    explicit Iterator(uint64_t rest) : rest_(rest) {}
    uint32_t operator*() const { return static_cast<uint32_t>(std::countr_zero(rest_)); }
    Iterator& operator++() {
      rest_ &= rest_ - 1;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    uint64_t rest_;
  };

  explicit SetBits(uint64_t word) : word_(word) {}
  Iterator begin() const { return Iterator(word_); }
  Iterator end() const { return Iterator(0); }

 private:
  uint64_t word_;
};

}  // namespace sotto
