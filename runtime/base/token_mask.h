// The tokens that are allowed next, one bit per token. A grammar writes the mask, and the sampler reads it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto {

struct TokenMask {
  const uint64_t* words = nullptr;  // if null, every token is allowed
  size_t token_count = 0;

  static constexpr size_t word_count(size_t token_count) { return (token_count + 63) / 64; }

  bool allows_all() const { return words == nullptr; }
  bool allows(size_t token) const { return words == nullptr || (words[token / 64] >> (token % 64) & 1) != 0; }
};

}  // namespace sotto
