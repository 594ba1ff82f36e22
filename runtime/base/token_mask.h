// The tokens that are allowed next, one bit per token. A grammar writes the mask, and the sampler reads it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/sizes.h"
#include "runtime/base/bits.h"

namespace sotto {

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
