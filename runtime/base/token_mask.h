// The tokens that are allowed next, one bit per token. A grammar writes the mask, and the sampler reads it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/sizes.h"

namespace sotto {

// Operations on bit `index` of an array of words, as in a TokenMask.
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

struct TokenMask {
  const uint64_t* words = nullptr;  // if null, every token is allowed
  size_t token_count = 0;

  static constexpr size_t word_count(size_t token_count) { return divide_up(token_count, 64); }

  bool allows_all() const { return words == nullptr; }
  bool allows(size_t token) const { return words == nullptr || has_bit(words, token); }
  // Returns 64 bits of a mask with words. The bits beyond the last token, which may have any value there, are 0.
  uint64_t word(size_t index) const {
    const size_t rest = token_count - index * 64;
    return rest >= 64 ? words[index] : words[index] & ((uint64_t{1} << rest) - 1);
  }
  bool allows_any() const {
    if (words == nullptr || token_count == 0) return token_count > 0;
    const size_t last = word_count(token_count) - 1;
    return word(last) != 0 || std::any_of(words, words + last, [](uint64_t bits) { return bits != 0; });
  }
};

}  // namespace sotto
