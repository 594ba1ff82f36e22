// Finds added and special tokens, which are matched as literal text before BPE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/model/tokenizer_view.h"

namespace sotto {

class AddedTokenFinder {
 public:
  // Finds special tokens only if `parse_special` is set.
  AddedTokenFinder(const TokenizerView& tokenizer, bool parse_special);

  struct Match {
    size_t start;  // text.size() if no token is found
    uint32_t token;
  };
  // Returns the leftmost token at or after `start`, and among those the longest.
  Match find(std::span<const char> text, size_t start) const;

 private:
  bool may_start(std::span<const char> text, size_t at) const;
  uint32_t token_at(std::span<const char> text, size_t at) const;
  bool is_wanted(uint32_t token) const;

  // A Bloom filter (1970) of the first two bytes of the tokens. Tokens of one byte are in single_.
  static constexpr size_t kPairBits = 4096;
  static size_t pair_bit(uint8_t first, uint8_t second) { return (first * 16u ^ second * 37u) % kPairBits; }

  const TokenizerView& tokenizer_;
  bool parse_special_;
  bool any_ = false;
  uint64_t single_[4] = {};
  uint64_t pairs_[kPairBits / 64] = {};
};

}  // namespace sotto
