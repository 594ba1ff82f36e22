// Stages that make repeated tokens less likely. The window gives each token two weights (PastTokens::weigh):
// w of its newest occurrence, and c of all its occurrences together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/chain.h"
#include "runtime/sampling/past_tokens.h"

namespace sotto {

// With r = 1 + w (penalty - 1): l > 0 ? l / r : l * r (Keskar et al. 2019).
void repetition_penalty(Candidates& candidates, std::span<const PastToken> window, float penalty);

// l -= c * penalty, as OpenAI's frequency_penalty.
void frequency_penalty(Candidates& candidates, std::span<const PastToken> window, float penalty);

// l -= w * penalty, as OpenAI's presence_penalty.
void presence_penalty(Candidates& candidates, std::span<const PastToken> window, float penalty);

// The repetition guard: interpolates from `penalty` >= 1 at severity 0 to `limit` at severity 1.
float guarded_penalty(float penalty, float limit, float severity);

// The tokens that DRY (below) neither penalises nor matches across.
class BreakerSet {
 public:
  // A measuring arena only adds up.
  void layout(Arena& arena, size_t vocabulary_size);

  // Contains from now on the tokens whose bytes contain one of `texts`, and `tokens`.
  void set(std::span<const TextView> texts, std::span<const int32_t> tokens, const TokenBytes& bytes);

  bool contains(int32_t token) const {
    const auto id = static_cast<uint32_t>(token);
    return id < vocabulary_size_ && (words_[id / 64] >> (id % 64) & 1) != 0;
  }

 private:
  size_t vocabulary_size_ = 0;
  uint64_t* words_ = nullptr;  // one bit per token
};

struct DryParams {
  float multiplier;
  float base;
  uint32_t allowed_length;
  uint32_t window;
};

// DRY, "don't repeat yourself" (p-e-w 2024, text-generation-webui pull request 5677), as in llama.cpp: if the
// n newest tokens, which contain no breaker, occur earlier and were followed by a token, then for the
// largest such n >= allowed_length that token gets l -= multiplier * base^(n - allowed_length).
void dry(Candidates& candidates, PastTokens& past, const BreakerSet& breakers, const DryParams& params);

}  // namespace sotto
