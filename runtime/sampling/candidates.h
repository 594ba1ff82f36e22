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
// Truncations refer to the sorted order: descending logit, ascending index. A token's place in it is
// given by its sort_key.
#pragma once

#include <bit>
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
#include "runtime/sampling/weighted_select.h"

namespace sotto {

inline constexpr size_t kMaxVocabularySize = size_t{1} << 22;  // a limit that keeps sums below 2^63

// Returns a key. Ascending keys are in the sorted order, and the low half of a key is the index. NaN sorts as
// -infinity, and -0 as 0.
inline uint64_t sort_key(float logit, size_t index) {
  const float value = logit != logit ? -std::numeric_limits<float>::infinity() : logit + 0.0f;
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t positive = (bits >> 31) - 1;  // all ones
  const uint32_t descending = bits ^ (positive & 0x7fffffff);
  return uint64_t{descending} << 32 | static_cast<uint32_t>(index);
}

class Candidates {
 public:
  static constexpr float kLowest = -std::numeric_limits<float>::infinity();
  static constexpr size_t kChunk = 1024;  // number of tokens per partial sum of weights

  // Lays out the working memory; a measuring arena only adds up its size.
  void layout(Arena& arena, size_t vocabulary_size);

  // Starts a token: all tokens that the mask allows, at temperature 1.
  void begin(const Kernels& kernels, std::span<const float> logits, const TokenMask& mask);

  size_t vocabulary_size() const { return vocabulary_size_; }
  size_t count() const { return count_; }
  int32_t id(size_t index) const { return ids_ == nullptr ? static_cast<int32_t>(index) : ids_[index]; }
  const int32_t* ids() const { return ids_; }  // null for the identity
  // Returns the logit before a pending division by a temperature (divide_by).
  float logit(size_t index) const { return logits_[index]; }
  const float* logits() const { return logits_; }
  float max();
  size_t argmax() const;
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
  // Returns H = -sum p ln p = ln total + sum p gap.
  double entropy();
  // Returns ln p = (l - max) / T - ln total, or -infinity for a logit of -infinity.
  double log_probability(size_t index);
  // Draws by inversion: returns find_cumulative() of `random` / 2^64 of the total.
  size_t draw(uint64_t random);
  // Returns the first index at which the sum of weights, in order of id, exceeds `target` < total_fixed().
  size_t find_cumulative(uint64_t target);

  // The following are truncations. At least one token must stay.
  void keep_up_to(uint64_t key);  // keeps a prefix of the sorted order
  void keep_from_logit(float floor);
  void keep_from_weight(float floor);
  template <typename Stays>
  void keep_if(Stays stays);  // stays(index) returns bool
  // Keeps those of `tokens` (ascending, distinct) that are in the set and returns true. If none is, it keeps all and
  // returns false.
  bool keep_tokens(std::span<const int32_t> tokens);
  // Permits the next truncation to be lazy: it only records a threshold, which draw() applies. After it, only draw(),
  // and id() and log_probability() of the drawn index, may be called.
  void draw_after_truncation() { draws_next_ = true; }

  // Returns the key of the `rank`-th token of the sorted order, 1 ... count().
  uint64_t key_of_rank(size_t rank);
  // Returns the key of the last token of the shortest prefix of the sorted order whose weights sum to at least
  // `target`, 1 ... total_fixed().
  uint64_t find_prefix(uint64_t target);
  // Returns the keys of the first `size` tokens, sorted, in scratch().
  std::span<uint64_t> sorted_prefix(size_t size);

  // Returns the keys of the tokens that reach `floor`, in order of id, in scratch().
  std::span<uint64_t> collect_keys(float floor);
  // Returns a logit that at least `k` tokens reach and that is fast to find, or kLowest if k is too large for that.
  float reached_by(size_t k);

  // Returns scratch memory for stages, valid until the next call of a member that ranks or truncates.
  std::span<uint64_t> scratch() { return {keys_, count_}; }
  uint64_t* bucket_sums() { return bucket_sums_; }  // (kBucketCount)

 private:
  static constexpr size_t kBlock = 128;  // number of tokens per maximum
  static constexpr float kNoCeiling = std::numeric_limits<float>::quiet_NaN();

  // The logits l with floor <= l < ceiling.
  struct LogitRange {
    float floor;
    float ceiling;
  };
  // A pending truncation. Index i stays if numbers[i] >= floor (before `end`) or numbers[i] > floor (from `end` on).
  struct Cut {
    const float* numbers;  // (count); null if nothing is pending
    float floor;
    size_t end;
  };

  void own_logits();
  void changed();
  void kept_in_own(size_t count);
  size_t keep_part(const float* numbers, float floor, size_t first, size_t count, size_t kept);
  bool leaves_to_draw(float least_weight);
  void weigh_kept();
  bool stays(size_t index) const;

  const float* block_maxima();
  Split split(LogitRange range, const float* weights);
  std::span<uint64_t> keys_of_indices(size_t count);
  LogitRange estimate_border(const float* weights, uint64_t total, uint64_t target);
  uint64_t select(std::span<uint64_t> keys, const float* weights, uint64_t target);
  uint64_t find_border(const float* weights, uint64_t total, uint64_t target);
  uint64_t find_among_equals(float logit, const float* weights, uint64_t target, LogitRange* range);
  int32_t* indices() { return reinterpret_cast<int32_t*>(keys_) + vocabulary_size_; }

  const Kernels* kernels_ = nullptr;
  size_t vocabulary_size_ = 0;
  // The set.
  size_t count_ = 0;
  const float* logits_ = nullptr;
  const int32_t* ids_ = nullptr;  // null for the identity
  float inverse_temperature_ = 1.0f;
  bool draws_next_ = false;
  Cut cut_ = {};
  // The following are derived from the set on demand.
  float max_ = kLowest;
  bool has_max_ = false;
  bool has_block_maxima_ = false;
  bool has_weights_ = false;
  uint64_t total_fixed_ = 0;
  // Working memory.
  float* own_logits_ = nullptr;       // (vocabulary)
  int32_t* own_ids_ = nullptr;        // (vocabulary)
  float* weights_ = nullptr;          // (vocabulary)
  uint64_t* keys_ = nullptr;          // (vocabulary); the upper half also holds indices
  float* block_maxima_ = nullptr;     // (block), twice; the second half is for selection
  uint64_t* chunk_totals_ = nullptr;  // (chunk), valid with total_fixed_
  float* ones_ = nullptr;             // (kChunk), all 1
  uint64_t* bucket_sums_ = nullptr;   // (kBucketCount)
};

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
