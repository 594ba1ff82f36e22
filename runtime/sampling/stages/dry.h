// DRY, "don't repeat yourself" (p-e-w 2024, text-generation-webui pull request 5677), with
// the meaning that llama.cpp gives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/chain.h"
#include "runtime/sampling/past_tokens.h"

namespace sotto {

// Tokens at which a repetition ends, and which no repetition makes less likely.
class BreakerSet {
 public:
  // Over a measuring arena it only adds up.
  void place(size_t vocabulary_size, Arena& arena);

  // The tokens whose bytes contain one of `texts` (none if there are no bytes), and `tokens`.
  void set(std::span<const TextView> texts, std::span<const int32_t> tokens, const TokenBytes& bytes);

  bool contains(int32_t token) const {
    const auto id = static_cast<uint32_t>(token);
    return id < vocabulary_size_ && (words_[id / 64] >> (id % 64) & 1) != 0;
  }

 private:
  size_t vocabulary_size_ = 0;
  uint64_t* words_ = nullptr;  // one bit a token
};

struct DryParams {
  float multiplier;
  float base;
  uint32_t allowed_length;
  uint32_t window;
};

// A token that has followed what the text ends with, the n newest tokens back to at most the
// newest breaker: l -= multiplier * base^(n - allowed_length) if n >= allowed_length, for the
// longest such n.
void dry(Candidates& candidates, PastTokens& past, const BreakerSet& breakers, const DryParams& params);

}  // namespace sotto
