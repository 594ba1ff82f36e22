// Finds tokens by their rank in the sorted order of logits, without sorting.
//
// The sorted order is descending logit, then ascending index; sort_key() encodes it as an integer. A truncation needs
// only a border in this order: the key of the last token that stays, at which a sum over the order reaches a target.
// Ranking::find_prefix() and key_of_rank() find it in three steps. First, a sample of the logits gives an interval that
// probably contains the border. Then one vectorized pass sums the weights above the interval and collects the tokens in
// it, and finally a weighted selection (select_by_sum) finds the border among these few.
//
// Example: the logits 1, 3, 2, 3 have the sorted order 1, 3, 2, 0 (indices). The sums of their probabilities in this
// order are 0.40, 0.80, 0.95 and 1. With top_p = 0.75, two tokens remain, and the border is the key of index 3. Only
// the tokens in the interval, perhaps 2.5 to 3, are compared with each other.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/kernels.h"
#include "runtime/base/arena.h"
#include "runtime/base/scalar_math.h"
#include "runtime/base/sort.h"
#include "runtime/sampling/scratch.h"

namespace sotto {

inline constexpr uint64_t kNoKey = UINT64_MAX;

// Returns the sort key of a token: ascending keys give the sorted order. The low half is the index. NaN counts as
// -infinity, and -0 as 0.
inline uint64_t sort_key(float logit, size_t index) {
  const float value = logit != logit ? kMinusInfinity : logit + 0.0f;
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t positive = (bits >> 31) - 1;  // all bits set if the logit is not negative
  const uint32_t descending = bits ^ (positive & 0x7fffffff);
  return uint64_t{descending} << 32 | static_cast<uint32_t>(index);
}

// Returns the index of a token among the candidates, given its key.
inline size_t key_index(uint64_t key) { return static_cast<uint32_t>(key); }

// The smallest and the largest of several keys.
struct KeyRange {
  uint64_t min;
  uint64_t max;
};

inline KeyRange range_of(std::span<const uint64_t> keys) {
  constexpr size_t kChains = 4;  // independent dependency chains, which hide latency
  uint64_t min[kChains], max[kChains];
  std::fill_n(min, kChains, keys[0]);
  std::fill_n(max, kChains, keys[0]);
  for (size_t i = keys.size() % kChains; i < keys.size(); i += kChains) {
    for (size_t k = 0; k < kChains; ++k) {
      min[k] = std::min(min[k], keys[i + k]);
      max[k] = std::max(max[k], keys[i + k]);
    }
  }
  for (size_t i = 0; i < keys.size() % kChains; ++i) {
    min[0] = std::min(min[0], keys[i]);
    max[0] = std::max(max[0], keys[i]);
  }
  return {*std::min_element(min, min + kChains), *std::max_element(max, max + kChains)};
}

// Weighted selection. Sums measure(key_index(key)) over the keys in ascending order, and returns the key where the sum
// reaches `target` >= 1, or kNoKey if it never does.
//
// Each round divides the range of the keys into buckets, sums the measure over each bucket, and continues in the bucket
// of the target: a radix selection, or a quickselect with 1,024 pivots. The buckets depend only on the high halves of
// the keys, so keys with equal high halves must already be in ascending order. Permutes the keys. `sums` is working
// memory for kBucketCount sums.
template <typename Measure>
uint64_t select_by_sum(std::span<uint64_t> keys, Measure measure, uint64_t target, uint64_t* sums) {
  constexpr size_t kSorted = 128;
  while (keys.size() > kSorted) {
    const auto [min_key, max_key] = range_of(keys);
    const uint64_t low = min_key >> 32, high = max_key >> 32;
    if (low == high) break;
    const int width = static_cast<int>(std::bit_width(high - low));
    const int shift = 32 + std::max(0, width - kBucketBits);
    std::fill_n(sums, kBucketCount, 0);
    const uint64_t base = low << 32;
    for (const uint64_t key : keys) sums[(key - base) >> shift] += measure(key_index(key));
    size_t bucket = 0;
    while (bucket < kBucketCount && sums[bucket] < target) target -= sums[bucket++];
    if (bucket == kBucketCount) return kNoKey;
    size_t kept = 0;
    for (const uint64_t key : keys) {
      keys[kept] = key;
      kept += (key - base) >> shift == bucket ? 1 : 0;
    }
    keys = keys.first(kept);
  }
  if (keys.size() <= kSorted) sort_numbers(keys.begin(), keys.end());
  for (const uint64_t key : keys) {
    const uint64_t m = measure(key_index(key));
    if (m >= target) return key;
    target -= m;
  }
  return kNoKey;
}

// The logits l with floor <= l < ceiling, or all l >= floor if the ceiling is kNoCeiling.
struct LogitRange {
  float floor;
  float ceiling;
};
inline constexpr float kNoCeiling = std::numeric_limits<float>::quiet_NaN();

// Finds ranks and prefixes in the sorted order of an array of logits.
class Ranking {
 public:
  // Takes the working memory. Every member uses `scratch`.
  void layout(Arena& arena, size_t vocabulary_size, const SamplerScratch& scratch);
  // Initializes the memory.
  void init();

  // Sets the logits. They must not change between the first call of another member and the next set().
  void set(const Kernels& kernels, std::span<const float> logits);
  // Sets the logits that remain after a truncation. They must include the largest one.
  void truncate(std::span<const float> logits);

  float max();
  // Returns the index of the first token of the sorted order.
  size_t argmax() const;
  // Returns the key of the token with rank `rank` in the sorted order, from 1 to logits.size().
  uint64_t key_of_rank(size_t rank);
  // Returns the last key of the shortest prefix with a sum of weights of at least `target`. `weights` must not decrease
  // as the logits increase. `total` is their sum in fixed point, and `target` is from 1 to `total`.
  uint64_t find_prefix(const float* weights, uint64_t total, uint64_t target);
  // Returns a lower bound of the k-th largest logit: the k-th largest of the maxima of all blocks, or -infinity if
  // there are fewer blocks.
  float lower_bound_of_rank(size_t k);

  // Returns the keys of the tokens that reach `floor`, in the order of their indices, in the scratch memory.
  std::span<uint64_t> keys_from(float floor);
  // Returns the sorted keys of the first `size` tokens of the sorted order, in the scratch memory.
  std::span<uint64_t> sorted_prefix(size_t size);

 private:
  static constexpr size_t kBlock = 128;  // number of tokens that share a maximum

  const float* block_maxima();
  CollectedSum sum_and_collect(LogitRange range, const float* weights);
  std::span<uint64_t> keys_of_indices(size_t count);
  uint64_t select(std::span<uint64_t> keys, const float* weights, uint64_t target);
  uint64_t find_among_equals(float logit, const float* weights, uint64_t target, LogitRange* range);
  uint64_t find_border(const float* weights, uint64_t total, uint64_t target);
  // Returns memory for indices, in the upper half of scratch_.keys. keys_of_indices() replaces the indices by keys, in
  // order from the first.
  int32_t* indices() { return reinterpret_cast<int32_t*>(scratch_.words) + capacity_; }

  const Kernels* kernels_ = nullptr;
  size_t capacity_ = 0;
  const float* logits_ = nullptr;
  size_t count_ = 0;
  float max_ = kMinusInfinity;
  bool has_max_ = false;
  bool has_block_maxima_ = false;
  // Working memory.
  SamplerScratch scratch_;
  float* block_maxima_ = nullptr;  // (block) twice; the second half is used by selection
  float* ones_ = nullptr;          // (kStep), all 1: weights that count tokens
};

}  // namespace sotto
