// Statistics of the history for stages against repetition: the tokens in reverse order, the earlier occurrences of the
// newest tokens, and the weights of the penalty window. Each is computed on demand and kept for the other stages until
// begin(), or until in_order() or table() lets a caller overwrite it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/hash_index.h"
#include "runtime/generated/params.h"
#include "runtime/sampling/sample_input.h"

namespace sotto {

// A distinct token of a window.
struct PastToken {
  int32_t token;
  uint32_t longest;  // length of the longest repetition that the token would extend
  float newest;      // weight of its last occurrence
  float sum;         // sum of the weights of all its occurrences
};

// The distinct tokens of a window, ordered by their first occurrence.
class TokenTable {
 public:
  // Takes memory for `capacity` distinct tokens.
  void layout(Arena& arena, size_t capacity);
  // Empties the table for up to `count` tokens, in time proportional to `count`.
  void clear(size_t count);
  // Returns the entry of a token. A new entry is all zeros.
  PastToken& at(int32_t token);
  std::span<const PastToken> entries() const { return {entries_, count_}; }

 private:
  static uint32_t slot_count(size_t count) { return static_cast<uint32_t>(std::bit_ceil(2 * count)); }

  PastToken* entries_ = nullptr;
  uint32_t* slots_ = nullptr;
  size_t count_ = 0;
  HashIndex index_;
};

class PastTokens {
 public:
  // Takes memory for the newest `capacity` tokens of a history.
  void layout(Arena& arena, size_t capacity);

  // Starts with the history before a token. The history must not change until the next call.
  void begin(const SampleInput& input, bool penalize_prompt);

  // Returns the number of tokens in a window of the newest `window` tokens. It is less than `window` if the history is
  // shorter, the window exceeds the capacity, or the prompt does not count.
  size_t count_in(size_t window) const;
  // Returns the number of generated tokens. They are the newest ones.
  size_t generated_count() const { return generated_count_; }
  const TokenHistory& history() const { return history_; }

  // Returns the tokens of the history, newest first.
  std::span<const int32_t> reversed();
  // Returns the tokens of the history, oldest first, until the next call of another member.
  std::span<const int32_t> in_order();

  // Returns the Z-array of reversed() (Gusfield 1997), in linear time. Element k > 0 is the length of the longest
  // common prefix of reversed() and reversed().subspan(k). This is the number of tokens before the k newest ones that
  // repeat the end of the text. Element 0 has no meaning.
  std::span<const uint32_t> repeats();

  // Returns the distinct tokens of the penalty window with their weights. With a slope s > 0, a token of age a in a
  // window of w tokens has the weight (s x / (1 + |x| (s - 1)) + 1) / 2, where x = 1 - 2 a / (w - 1). The weight is 1
  // for the newest token and 0 for the oldest (the repetition penalty slope of KoboldAI, AdvancedRepetitionPenalty in
  // warpers.py). With slope 0 all weights are 1.
  std::span<const PastToken> weigh(uint32_t window, float slope);

  // Lends the table to a stage. The next call of weigh() computes its entries again.
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
