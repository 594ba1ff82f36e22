// Weighted selection: finds where the running sum over a sorted sequence reaches a target, without sorting it. Each
// round sums the measure over buckets of the keys' range and continues in the bucket that holds the target. It is a
// radix selection, or a quickselect with 1,024 pivots.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/sort.h"

namespace sotto {

inline constexpr int kBucketBits = 10;
inline constexpr size_t kBucketCount = size_t{1} << kBucketBits;
inline constexpr uint64_t kNoKey = UINT64_MAX;

// Returns the index of a token among the candidates, which is the low half of its key.
inline size_t key_index(uint64_t key) { return static_cast<uint32_t>(key); }

struct KeyRange {
  uint64_t least;
  uint64_t most;
};

inline KeyRange range_of(std::span<const uint64_t> keys) {
  constexpr size_t kChains = 4;  // independent chains that hide latency
  uint64_t least[kChains], most[kChains];
  std::fill_n(least, kChains, keys[0]);
  std::fill_n(most, kChains, keys[0]);
  for (size_t i = keys.size() % kChains; i < keys.size(); i += kChains) {
    for (size_t k = 0; k < kChains; ++k) {
      least[k] = std::min(least[k], keys[i + k]);
      most[k] = std::max(most[k], keys[i + k]);
    }
  }
  for (size_t i = 0; i < keys.size() % kChains; ++i) {
    least[0] = std::min(least[0], keys[i]);
    most[0] = std::max(most[0], keys[i]);
  }
  return {*std::min_element(least, least + kChains), *std::max_element(most, most + kChains)};
}

// Returns the key at which the sum of measure(key_index(key)), over the keys in ascending order, reaches `target`, at
// least 1, or kNoKey if it does not. The high half of a key gives the order. Keys of equal high halves must already be
// ascending. Permutes the keys. `sums` is scratch memory for kBucketCount sums.
template <typename Measure>
uint64_t select_by_sum(std::span<uint64_t> keys, Measure measure, uint64_t target, uint64_t* sums) {
  constexpr size_t kSorted = 128;
  while (keys.size() > kSorted) {
    const auto [least_key, most_key] = range_of(keys);
    const uint64_t least = least_key >> 32, most = most_key >> 32;
    if (least == most) break;
    const int width = static_cast<int>(std::bit_width(most - least));
    const int shift = 32 + std::max(0, width - kBucketBits);
    std::fill_n(sums, kBucketCount, 0);
    const uint64_t base = least << 32;
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

}  // namespace sotto
