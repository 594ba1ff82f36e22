// Facts about the history that the repetition stages share: the tokens newest first, the earlier
// occurrences of its end, and the weights of the penalty window. Each is computed at most once per token,
// on demand. Also measures how much a text repeats itself.
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
  uint32_t longest;  // length of the longest repetition that the token would continue
  float newest;      // weight of its newest occurrence
  float sum;         // sum of the weights of all its occurrences
};

// The distinct tokens of a window, in the order of their first occurrence.
class TokenTable {
 public:
  // For up to `capacity` distinct tokens; a measuring arena only adds up.
  void layout(Arena& arena, size_t capacity);
  // Empties the table, in time proportional to `count`, the maximal number of tokens that it will hold.
  void clear(size_t count);
  // Returns the entry of a token. A new entry is zero.
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
  // Considers the newest `capacity` tokens of a history. A measuring arena only adds up.
  void layout(Arena& arena, size_t capacity);

  // Starts a token. The history must stay unchanged until the next one.
  void begin(const SampleInput& input, bool penalize_prompt);

  // Returns how many of the newest tokens a window contains. It does not reach beyond the capacity or, unless the
  // prompt counts, into the prompt.
  size_t reach(size_t window) const;
  // Returns how many of the tokens, namely the newest ones, were generated.
  size_t generated_count() const { return generated_count_; }
  const TokenHistory& history() const { return history_; }

  // Returns the tokens, newest first.
  std::span<const int32_t> reversed();

  // Returns the Z-array of reversed() (Gusfield 1997), in linear time. Element k > 0 is the length of the longest
  // common prefix of reversed() and reversed() without its first k tokens. In other words, it is how many tokens before
  // the newest k equal the newest ones. Element 0 is meaningless.
  std::span<const uint32_t> repeats();

  // Returns the distinct tokens of the penalty window with their weights. With slope s > 0, a token of age a in a
  // window of w tokens has the weight (s x / (1 + |x| (s - 1)) + 1) / 2 with x = 1 - 2 a / (w - 1), which is 1 for the
  // newest and 0 for the oldest (KoboldAI's repetition penalty slope, AdvancedRepetitionPenalty in warpers.py). With
  // slope 0 all weights are 1.
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

// Returns 0 (no repetition) to 1 (nothing else) for the newest n <= SamplerParams::kMaxGuardWindow tokens of a
// window: the mean of
//   max(0, 1 - 2 d / n) with d distinct tokens, as half of the tokens of any text occur twice;
//   1 - b / (n - 1) with b distinct bigrams;
//   min(1, 2 s / n) with s the length of the longest suffix that also occurs earlier.
// Returns 0 for n < 8. Uses only the stack.
float repetition_severity(const TokenHistory& history, size_t window);

}  // namespace sotto
