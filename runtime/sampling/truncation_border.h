// Where a truncation ends: in an order of the tokens, the one at which the running sum of a
// measure first reaches a target. Nothing is sorted but the last few: each pass sums a
// measure over slices of the order and goes on with the slice that holds the border.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/sampling/candidates.h"

namespace sotto {

// The slice in which the running sum reaches `target`, from which the sums of those before
// it are taken.
inline size_t find_slice(const uint64_t* sums, uint64_t* target) {
  size_t slice = 0;
  while (sums[slice] < *target) *target -= sums[slice++];
  return slice;
}

// The key of `keys` (ascending order in the high half, index in the low half, those of equal
// order ascending in place) at which the running sum of measure(index) reaches `target`,
// 1 ... the sum of all. Permutes the keys.
template <typename Measure>
uint64_t find_border_key(Candidates& candidates, std::span<uint64_t> keys, Measure measure,
                         uint64_t target) {
  constexpr size_t kSorted = 128;
  constexpr int kSliceBits = 10;
  static_assert((1 << kSliceBits) <= Candidates::kBuckets);
  while (keys.size() > kSorted) {
    uint64_t least = UINT64_MAX, most = 0;
    for (const uint64_t key : keys) {
      least = std::min(least, key >> 32);
      most = std::max(most, key >> 32);
    }
    if (least == most) break;
    const int width = static_cast<int>(std::bit_width(most - least));
    const int shift = 32 + std::max(0, width - kSliceBits);
    uint64_t* sums = candidates.bucket_sums();
    std::fill_n(sums, size_t{1} << kSliceBits, 0);
    const uint64_t base = least << 32;
    for (const uint64_t key : keys) sums[(key - base) >> shift] += measure(key_index(key));
    const uint64_t slice = find_slice(sums, &target);
    size_t collected = 0;
    for (const uint64_t key : keys) {
      keys[collected] = key;
      collected += (key - base) >> shift == slice ? 1 : 0;
    }
    keys = keys.first(collected);
  }
  if (keys.size() <= kSorted) std::sort(keys.begin(), keys.end());
  size_t last = 0;
  for (uint64_t m = measure(key_index(keys[0])); m < target; m = measure(key_index(keys[last]))) {
    target -= m;
    ++last;
    assert(last < keys.size());
  }
  return keys[last];
}

// The same over all candidates. ranks(first, count, uint32_t* ranks) gives tokens numbers that
// below 2^31 that ascend in the order, not necessarily strictly; slices are 2^18 of them, the
// first ending at base + 2^18. key(index): as above.
template <typename Ranks, typename Key, typename Measure>
uint64_t find_border(Candidates& candidates, int32_t base, Ranks ranks, Key key, Measure measure,
                     uint64_t target) {
  constexpr int32_t kLast = Candidates::kBuckets - 1;
  uint64_t* sums = candidates.bucket_sums();
  std::fill_n(sums, Candidates::kBuckets, 0);
  uint32_t* slices = candidates.ranks();
  const size_t all = candidates.count();
  const auto find_slices = [&](size_t first, size_t count) {
    ranks(first, count, slices);
    for (size_t i = 0; i < count; ++i) {
      const int32_t above = static_cast<int32_t>(slices[i]) - base;
      const int32_t slice = (above > 0 ? above : 0) >> 18;
      slices[i] = static_cast<uint32_t>(slice < kLast ? slice : kLast);
    }
  };
  for (size_t first = 0; first < all; first += Candidates::kChunk) {
    const size_t count = std::min(Candidates::kChunk, all - first);
    find_slices(first, count);
    for (size_t i = 0; i < count; ++i) sums[slices[i]] += measure(first + i);
  }
  const auto border = static_cast<uint32_t>(find_slice(sums, &target));
  uint64_t* keys = candidates.keys();
  size_t collected = 0;
  for (size_t first = 0; first < all; first += Candidates::kChunk) {
    const size_t count = std::min(Candidates::kChunk, all - first);
    find_slices(first, count);
    for (size_t i = 0; i < count; ++i) {
      if (slices[i] == border) keys[collected++] = key(first + i);
    }
  }
  return find_border_key(candidates, {keys, collected}, measure, target);
}

// The order of descending logits. max() is not kLowest.
template <typename Measure>
uint64_t find_likely_border(Candidates& candidates, Measure measure, uint64_t target) {
  const float* shares = candidates.shares();
  const float* logits = candidates.logits();
  const auto ranks = [shares](size_t first, size_t count, uint32_t* out) {
    for (size_t i = 0; i < count; ++i) {
      out[i] = std::bit_cast<uint32_t>(1.0f) - std::bit_cast<uint32_t>(shares[first + i]);
    }
  };
  const auto key = [logits](size_t i) { return sort_key(logits[i], i); };
  return find_border(candidates, 0, ranks, key, measure, target);
}

// The keys of the `size` most likely, 1 ... count(), sorted. They hold until the next call of
// a member of the candidates.
std::span<uint64_t> sorted_prefix(Candidates& candidates, size_t size);

// The key of the `rank`th in the order of descending logits, 1 ... count().
uint64_t key_of_rank(Candidates& candidates, size_t rank);

}  // namespace sotto
