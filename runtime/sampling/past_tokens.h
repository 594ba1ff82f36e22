// What the repetition stages of one token share about the history: the tokens newest first,
// where its end has stood before, and the weights of the penalty window. Each is computed
// once a token, when a stage asks for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/generated/params.h"
#include "runtime/sampling/sample_input.h"
#include "runtime/sampling/token_table.h"

namespace sotto {

class PastTokens {
 public:
  // Sees the newest `capacity` tokens of a history. Over a measuring arena it only adds up.
  void place(size_t capacity, Arena& arena);

  // Begins a token. The history must stay as it is until the next one.
  void begin(const SampleInput& input, bool penalize_prompt);

  // The newest tokens that a window of that many reaches: neither beyond what is seen nor,
  // unless the prompt counts, into the prompt.
  size_t reach(size_t window) const;
  // Tokens seen that were generated, all of them at the end.
  size_t generated_count() const { return generated_count_; }
  const TokenHistory& history() const { return history_; }

  // Newest first.
  std::span<const int32_t> reversed();

  // (k), k > 0: how many tokens before the newest k equal, one by one, as many newest ones:
  // the Z-array of reversed() (Gusfield 1997), in linear time. (0) is meaningless.
  std::span<const uint32_t> repeats();

  // The distinct tokens of the penalty window. With slope s > 0 a token of age a in a window
  // of w weighs (s x / (1 + |x| (s - 1)) + 1) / 2 with x = 1 - 2 a / (w - 1), KoboldAI's
  // repetition penalty slope (warpers.py, AdvancedRepetitionPenalty): 1 the newest, 0 the
  // oldest. Without: 1.
  std::span<const PastToken> weigh(uint32_t window, float slope);

  // For other uses than weigh(), which it makes forget.
  TokenTable& table() {
    weighed_ = false;
    return table_;
  }

 private:
  size_t capacity_ = 0;
  TokenHistory history_;
  size_t generated_count_ = 0;
  bool penalize_prompt_ = true;
  bool is_reversed_ = false;
  bool has_repeats_ = false;
  bool weighed_ = false;
  int32_t* reversed_ = nullptr;  // (capacity)
  uint32_t* repeats_ = nullptr;  // (capacity)
  TokenTable table_;
};

}  // namespace sotto
