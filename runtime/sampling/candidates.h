// The working set of the sampling chain: the tokens still in play and their logits, in order of id,
// so that the lowest index is the lowest id everywhere.
//
// At first the set is the caller's whole array, neither read nor copied. A stage that changes logits
// or drops tokens moves the set into the sampler's own memory. Dividing by a temperature only
// records the divisor.
//
// A token's weight is its unnormalised probability, exp((l - max) / T), so the largest is 1. Weights
// are summed exactly, as fixed-point integers (to_fixed in kernels/math.h), so no sum depends on
// an order. NaN counts as -infinity, whose weight is 0.
//
// Truncations that keep a prefix of the sorted order find its end with a Ranking (ranking.h).
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

inline constexpr size_t kMaxVocabularySize = size_t{1} << 22;  // a limit that keeps sums below 2^63

// The weights of a set of tokens, their exact sum, and draws in proportion to them.
class TokenWeights {
 public:
  static constexpr size_t kChunk = 1024;  // number of tokens per partial sum

  void layout(Arena& arena, size_t vocabulary_size);
  // Computes exp((l - max) / T) of each logit l. `max` is the largest one and must be above -infinity.
  void compute(const Kernels& kernels, std::span<const float> logits, float max, float inverse_temperature);
  // Removes tokens from the sum and thus from draws, but leaves their weights as they are. Index i stays if numbers[i]
  // >= floor (before `end`) or numbers[i] > floor (from `end` on). `numbers` must stay unchanged until the next call of
  // compute().
  void restrict_to(const Kernels& kernels, const float* numbers, float floor, size_t end);

  float* data() { return weights_; }
  uint64_t total() const { return total_; }
  // Returns the first index at which the sum of weights, in order of the index, exceeds `target` < total().
  size_t find(uint64_t target) const;

 private:
  bool stays(size_t index) const;

  size_t count_ = 0;
  uint64_t total_ = 0;
  // The restriction.
  const float* numbers_ = nullptr;  // null if there is none
  float floor_ = 0;
  size_t end_ = 0;
  // Working memory.
  float* weights_ = nullptr;          // (vocabulary)
  uint64_t* chunk_totals_ = nullptr;  // (chunk)
};

class Candidates {
 public:
  static constexpr float kLowest = -std::numeric_limits<float>::infinity();

  // Lays out the working memory; a measuring arena only adds up its size.
  void layout(Arena& arena, size_t vocabulary_size);

  // Starts a token: all tokens that the mask allows, at temperature 1.
  void begin(const Kernels& kernels, std::span<const float> logits, const TokenMask& mask);

  size_t count() const { return count_; }
  int32_t id(size_t index) const { return ids_ == nullptr ? static_cast<int32_t>(index) : ids_[index]; }
  const int32_t* ids() const { return ids_; }  // null for the identity
  // Returns the logit before a pending division by a temperature (divide_by).
  float logit(size_t index) const { return logits_[index]; }
  const float* logits() const { return logits_; }
  float max();
  // Returns the index of a token, or count() if it is not in the set. `token` may be any number.
  size_t find(int32_t token) const;

  // Changes the logit of a token, if it is in the set, by `change(float) -> float`.
  template <typename Change>
  void change(int32_t token, Change change);
  // Returns the logits for writing, divided by the temperature so far.
  std::span<float> edit();
  // Lets `function` change the logits of the whole vocabulary. Tokens outside the set have -infinity
  // and stay outside. NaN becomes -infinity.
  void rewrite(LogitsFunction function, void* user_data);
  // Divides logits by T > 0. The division is lazy: logits stay as they are and only weights take it into account, until
  // a stage changes logits.
  void divide_by(float temperature);
  float inverse_temperature() const { return inverse_temperature_; }

  // This member and those down to draw() require max() > kLowest. Returns weights by index, valid until the set or the
  // temperature changes.
  const float* weights();
  uint64_t total_fixed();
  double total() { return static_cast<double>(total_fixed()) * 0x1p-40; }
  // Returns the same array to be overwritten. The next call of weights() computes the weights again.
  float* take_weights();
  // Returns (max - l) / T = -ln weight, or NaN if the logit is NaN.
  float gap(size_t index) {
    const float l = logits_[index];
    return zero_unless(!(l >= max_), (max_ - l) * inverse_temperature_);
  }
  // Returns ln p = (l - max) / T - ln total, or -infinity for a logit of -infinity.
  double log_probability(size_t index);
  // Draws by inversion: returns the first index at which the sum of weights exceeds `random` / 2^64 of the total.
  size_t draw(uint64_t random);

  // The following are truncations. At least one token must stay.
  void keep_up_to(uint64_t key);  // keeps a prefix of the sorted order
  void keep_from_logit(float floor);
  void keep_from_weight(float floor);
  template <typename Stays>
  void keep_if(Stays stays);  // stays(index) returns bool
  // Keeps those of `tokens` (ascending, distinct) that are in the set and returns true. If none is, it keeps all and
  // returns false.
  bool keep_tokens(std::span<const int32_t> tokens);
  // Permits the next truncation to restrict draw() instead of moving the tokens. After it, only draw(), and id() and
  // log_probability() of the drawn index, may be called.
  void draw_after_truncation() { draws_next_ = true; }

  // Returns the ranking of the logits, valid until they or the set change. Its scratch memory is also that of stages.
  Ranking& ranking() { return ranking_; }

 private:
  void own_logits();
  void changed();
  size_t keep_part(const float* numbers, float floor, size_t first, size_t count, size_t kept);
  void kept_in_own(size_t count);
  bool leaves_to_draw(float least_weight);

  const Kernels* kernels_ = nullptr;
  size_t vocabulary_size_ = 0;
  // The set.
  size_t count_ = 0;
  const float* logits_ = nullptr;
  const int32_t* ids_ = nullptr;  // null for the identity
  float inverse_temperature_ = 1.0f;
  bool draws_next_ = false;
  // The following are derived from the set on demand.
  float max_ = kLowest;
  bool has_max_ = false;
  bool has_weights_ = false;
  Ranking ranking_;
  TokenWeights weights_;
  // Working memory.
  float* own_logits_ = nullptr;  // (vocabulary)
  int32_t* own_ids_ = nullptr;   // (vocabulary)
};

// Returns the entropy H = -sum p ln p = ln total + sum p gap. Requires max() > kLowest.
double entropy(Candidates& candidates);

template <typename Change>
void Candidates::change(int32_t token, Change change) {
  const size_t index = find(token);
  if (index == count_) return;
  own_logits();
  own_logits_[index] = change(own_logits_[index]);
  changed();
}

template <typename Stays>
void Candidates::keep_if(Stays stays) {
  size_t kept = 0;
  for (size_t i = 0; i < count_; ++i) {
    const bool kept_too = stays(i);
    const float logit = logits_[i];
    // The token is always written, and counted only if it stays, because a branch could not be predicted.
    own_ids_[kept] = id(i);
    own_logits_[kept] = logit;
    kept += kept_too ? 1 : 0;
  }
  kept_in_own(kept);
}

}  // namespace sotto
