// The tokens that the stages have not dropped, and their logits, in the order of token ids.
//
// At first the set is the caller's whole array. It is copied to the sampler's memory only when a stage changes logits
// or drops tokens. A temperature is only recorded: the weights apply it, and the logits are divided when a stage
// changes them.
//
// Most truncations are recorded too, because a draw may follow: if many tokens remain, the draw skips the others faster
// than they could be dropped. A recorded truncation ends a stage. The chain applies it before the next stage, so stages
// always find a set that is complete: one without a recorded truncation. Only draw() and the members that describe what
// it draws from accept a set that is not.
//
// The weight of a token is its unnormalized probability, exp((l - max) / T), so the largest weight is 1. Weights are
// summed as fixed-point integers (to_fixed in kernels/math.h). A logit of NaN counts as -infinity and has the weight 0.
//
// Some truncations keep a prefix of the sorted order. Ranking (ranking.h) finds its end.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/kernels.h"
#include "kernels/math.h"
#include "runtime/base/arena.h"
#include "runtime/base/scalar_math.h"
#include "runtime/base/token_mask.h"
#include "runtime/generated/params.h"
#include "runtime/sampling/ranking.h"

namespace sotto {

inline constexpr size_t kMaxVocabularySize = size_t{1} << 22;  // a limit that keeps all sums of weights below 2^63

// The end of a prefix of the sorted order: keeps the tokens with values[i] >= floor for i < end, and those with
// values[i] > floor for i >= end. The two cases cut between equal values.
struct Truncation {
  const float* values = nullptr;  // logits or weights; null keeps all tokens
  float floor = 0;
  size_t end = 0;

  bool keeps(size_t index) const {
    if (values == nullptr) return true;
    return index < end ? values[index] >= floor : values[index] > floor;
  }
};

// The weights of a set of tokens, their exact sum, and random draws in proportion to them.
class TokenWeights {
 public:
  static constexpr size_t kChunk = 1024;  // number of tokens per partial sum

  void layout(Arena& arena, size_t vocabulary_size);
  // Computes exp((l - max) / T) for each logit l. `max` is the largest logit and must be greater than -infinity. The
  // logits must not change until the next clear() or compute().
  void compute(const Kernels& kernels, std::span<const float> logits, float max, float inverse_temperature);
  // Restricts the sum and the draws to the tokens that a truncation keeps. Their weights stay the same. The values of
  // the truncation must not change until the next compute().
  void restrict_to(const Kernels& kernels, const Truncation& truncation);
  // Invalidates the weights.
  void clear() { logits_ = nullptr; }
  bool is_valid() const { return logits_ != nullptr; }
  bool is_restricted() const { return is_valid() && truncation_.values != nullptr; }

  float* data() const { return weights_; }
  // Returns (max - l) / T = -ln weight, or NaN if the logit is NaN.
  float gap(size_t index) const {
    const float l = logits_[index];
    return zero_unless(!(l >= max_), (max_ - l) * inverse_temperature_);
  }
  uint64_t total() const { return total_; }
  // Returns the first index where the running sum of weights exceeds `target`. Requires target < total().
  size_t find(uint64_t target) const;
  size_t positive_count() const;

 private:
  float weight(size_t index) const { return truncation_.keeps(index) ? weights_[index] : 0; }

  const float* logits_ = nullptr;  // null if the weights are not valid
  size_t count_ = 0;
  float max_ = 0;
  float inverse_temperature_ = 1.0f;
  uint64_t total_ = 0;
  Truncation truncation_;
  // Working memory.
  float* weights_ = nullptr;          // (vocabulary)
  uint64_t* chunk_totals_ = nullptr;  // (chunk)
};

class Candidates {
 public:
  // Takes the working memory. The ranking uses `scratch`.
  void layout(Arena& arena, size_t vocabulary_size, const SamplerScratch& scratch);
  // Initializes the memory.
  void init() { ranking_.init(); }

  // Starts with all tokens that the mask allows, at temperature 1.
  void begin(const Kernels& kernels, std::span<const float> logits, const TokenMask& mask);

  // Returns whether the set has no recorded truncation. The members from here to keep_tokens() require this.
  bool is_complete() const { return truncation_.values == nullptr; }

  // Tokens have the indices 0 ... count() - 1. Indices, and arrays over them, are valid until the set changes.
  size_t count() const {
    assert(is_complete());
    return count_;
  }
  int32_t id(size_t index) const {
    assert(is_complete());
    return ids_ == nullptr ? static_cast<int32_t>(index) : ids_[index];
  }
  // Returns the id of each token, or null if index and id are the same.
  const int32_t* ids() const {
    assert(is_complete());
    return ids_;
  }
  // Returns a logit, without a recorded temperature.
  float logit(size_t index) const {
    assert(is_complete());
    return logits_[index];
  }
  const float* logits() const {
    assert(is_complete());
    return logits_;
  }
  // Returns the index of a token, or count() if the token is not in the set. `token` may be any number.
  size_t find(int32_t token) const {
    assert(is_complete());
    return index_of(token);
  }
  // Returns the ranking of the logits, valid until the logits or the set change.
  Ranking& ranking() const {
    assert(is_complete());
    return ranking_;
  }
  float inverse_temperature() const { return inverse_temperature_; }

  // Replaces the logit of a token by change(logit), if the token is in the set.
  template <typename Change>
  void change_logit(int32_t token, Change change);
  // Divides the logits by the recorded temperature, and calls change(logits) with a std::span<float> to write to.
  // `change` may call the other members before it writes.
  template <typename Change>
  void change_logits(Change change);
  // Records a temperature T > 0. Several temperatures are multiplied.
  void divide_by(float temperature);

  // The members from here to scratch_weights() require max() > kMinusInfinity.

  // Returns the weight of each token. The weights are valid until the set or the temperature changes.
  const float* weights() const;
  uint64_t total_fixed() const;
  double total() const { return static_cast<double>(total_fixed()) * 0x1p-40; }
  // Returns -ln weight (see TokenWeights::gap). Requires that weights() is valid.
  float gap(size_t index) const { return weights_.gap(index); }
  // Returns the array of weights() as scratch memory. The next call of weights() computes the weights again.
  float* scratch_weights();

  // Truncations. Each must leave at least one token. These three are recorded; the stage must then return.
  void keep_up_to(uint64_t key);  // keeps a prefix of the sorted order
  void keep_top(size_t count);    // keeps the first `count` tokens of the sorted order, or all if there are fewer
  void keep_from_weight(float floor);
  // These drop the other tokens at once.
  void keep_from_logit(float floor);
  template <typename Stays>
  void keep_if(Stays stays);  // stays(index) returns bool
  // Keeps those of `tokens` (ascending, distinct) that are in the set. If there are none, keeps all tokens and returns
  // false.
  bool keep_tokens(std::span<const int32_t> tokens);

  // Completes the set: drops the tokens that the recorded truncation excludes.
  void apply_truncation() {
    if (!is_complete()) drop_excluded();
  }

  // The members from here on do not need a complete set.

  // Returns the largest logit. A truncation always keeps it.
  float max() const { return ranking_.max(); }
  // Draws a token by inversion: returns the first one where the sum of weights exceeds `random` / 2^64 of the total.
  // Requires max() > kMinusInfinity.
  int32_t draw(uint64_t random);
  // Returns ln p = (l - max) / T - ln total of a token, or -infinity if its logit is -infinity or it is not in the set.
  double log_probability(int32_t token);
  // Returns how many tokens can be drawn. Requires max() > kMinusInfinity.
  size_t positive_weight_count();

 private:
  void drop_excluded();
  size_t index_of(int32_t token) const;
  void own_logits();
  void forget_sums();
  size_t keep_part(const float* values, float floor, size_t first, size_t count, size_t kept);
  void adopt_own(size_t count, bool keeps_max);
  bool should_restrict_weights() const;
  const TokenWeights& drawn_weights();

  const Kernels* kernels_ = nullptr;
  size_t vocabulary_size_ = 0;
  // The set of tokens.
  size_t count_ = 0;
  const float* logits_ = nullptr;
  const int32_t* ids_ = nullptr;  // null if index and id are the same
  float inverse_temperature_ = 1.0f;
  Truncation truncation_;  // the recorded truncation
  // Values computed from the set on demand.
  mutable Ranking ranking_;
  mutable TokenWeights weights_;
  // Working memory.
  float* own_logits_ = nullptr;  // (vocabulary)
  int32_t* own_ids_ = nullptr;   // (vocabulary)
};

// Returns the entropy H = -sum p ln p, computed as ln total + sum p gap. Requires max() > kMinusInfinity.
double entropy(const Candidates& candidates);

template <typename Change>
void Candidates::change_logit(int32_t token, Change change) {
  const size_t index = find(token);
  if (index == count_) return;
  own_logits();
  own_logits_[index] = change(own_logits_[index]);
  forget_sums();
}

template <typename Change>
void Candidates::change_logits(Change change) {
  own_logits();
  change(std::span<float>(own_logits_, count_));
  forget_sums();
}

template <typename Stays>
void Candidates::keep_if(Stays stays) {
  size_t kept = 0;
  for (size_t i = 0; i < count_; ++i) {
    const bool keeps = stays(i);
    const float logit = logits_[i];
    // Writes every token, and advances only past those that stay: a branch would be mispredicted too often.
    own_ids_[kept] = id(i);
    own_logits_[kept] = logit;
    kept += keeps ? 1 : 0;
  }
  adopt_own(kept, /*keeps_max=*/false);
}

}  // namespace sotto
