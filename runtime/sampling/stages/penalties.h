// Stages that make repeated tokens less likely. The penalty window gives each token two weights (PastTokens::weigh): w
// for its last occurrence, and c for all its occurrences together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/chain.h"
#include "runtime/sampling/past_tokens.h"

namespace sotto {

// Replaces l by l / r if l > 0, and by l * r otherwise, where r = 1 + w (penalty - 1) (Keskar et al. 2019).
void repetition_penalty(Candidates& candidates, std::span<const PastToken> window, float penalty);

// Subtracts c * penalty, as OpenAI's frequency_penalty does.
void frequency_penalty(Candidates& candidates, std::span<const PastToken> window, float penalty);

// Subtracts w * penalty, as OpenAI's presence_penalty does.
void presence_penalty(Candidates& candidates, std::span<const PastToken> window, float penalty);

// Returns the penalty of the repetition guard: `penalty` >= 1 at severity 0, `limit` at severity 1, and interpolated
// between them.
float guarded_penalty(float penalty, float limit, float severity);

// The tokens that DRY (below) neither penalizes nor matches across.
class BreakerSet {
 public:
  // Takes memory for one bit per token.
  void layout(Arena& arena, size_t vocabulary_size);

  // Sets the members: `tokens`, and all tokens whose bytes contain one of `texts`.
  void set(std::span<const TextView> texts, std::span<const int32_t> tokens, const TokenBytes& bytes);

  bool contains(int32_t token) const {
    const auto id = static_cast<uint32_t>(token);
    return id < vocabulary_size_ && (words_[id / 64] >> (id % 64) & 1) != 0;
  }

 private:
  size_t vocabulary_size_ = 0;
  uint64_t* words_ = nullptr;  // one bit per token
};

// The parameters of DRY.
struct DryParams {
  float multiplier;
  float base;
  uint32_t allowed_length;
  uint32_t window;
};

// DRY, "don't repeat yourself" (p-e-w 2024, text-generation-webui pull request 5677), as in llama.cpp. Suppose that the
// n newest tokens, none of which is a breaker, also occur earlier, where some token follows them. For the largest such
// n >= allowed_length, the logit of that token is reduced by multiplier * base^(n - allowed_length).
void dry(Candidates& candidates, PastTokens& past, const BreakerSet& breakers, const DryParams& params);

}  // namespace sotto
