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

// Writes the keys of the indices below `count` of which belongs(index) is true, in order;
// returns how many. Few should be.
template <typename Belongs, typename Key>
size_t collect(size_t count, Belongs belongs, Key key, uint64_t* keys) {
  constexpr size_t kTile = 32;
  size_t collected = 0;
  const auto collect_tile = [&](size_t first, size_t end) {
    for (size_t i = first; i < end; ++i) {
      // Written always and counted if it belongs: a branch could not be predicted.
      keys[collected] = key(i);
      collected += belongs(i) ? 1 : 0;
    }
  };
  size_t first = 0;
  for (; first + kTile <= count; first += kTile) {
    uint32_t any = 0;
    for (size_t i = 0; i < kTile; ++i) any |= belongs(first + i) ? 1 : 0;
    if (any != 0) collect_tile(first, first + kTile);
  }
  collect_tile(first, count);
  return collected;
}

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

// The same over all candidates. rank(index) gives numbers below 2^31 that ascend in the order,
// not necessarily strictly. key(index): as above.
template <typename Rank, typename Key, typename Measure>
uint64_t find_border(Candidates& candidates, Rank rank, Key key, Measure measure,
                     uint64_t target) {
  constexpr size_t kSlices = 1344;  // 2^18 ranks each, at most: floats of 42 powers of 2
  constexpr uint32_t kTables = 4;     // so that sums need not wait for one another
  constexpr size_t kTile = 64;      // as many as compilers vectorize without being told
  const size_t all = candidates.count(), tiled = all / kTile * kTile;
  uint64_t* keys = candidates.keys();
  if (all < kSlices * kTables) {
    for (size_t i = 0; i < all; ++i) keys[i] = key(i);
    return find_border_key(candidates, {keys, all}, measure, target);
  }
  // An even sample tells how fine the slices may be; ranks beyond it are in the outer ones.
  constexpr size_t kSampled = 256;
  int32_t least = INT32_MAX, most = 0;
  for (size_t i = 0; i < kSampled; ++i) {
    const auto r = static_cast<int32_t>(rank(i * (all / kSampled)));
    least = std::min(least, r);
    most = std::max(most, r);
  }
  const int width = static_cast<int>(std::bit_width(static_cast<uint32_t>(most - least)));
  const int shift = std::clamp(width - 10, 0, 18);
  const auto slice_of = [=](size_t i) {
    const int32_t above = static_cast<int32_t>(rank(i)) - least;
    const int32_t slice = (above > 0 ? above : 0) >> shift;
    constexpr auto kLast = static_cast<int32_t>(kSlices - 1);
    return static_cast<uint32_t>(slice < kLast ? slice : kLast);
  };
  uint64_t* sums = keys;  // until there are any
  std::fill_n(sums, kSlices * kTables, 0);
  uint32_t slices[kTile];
  uint64_t measures[kTile];
  for (size_t first = 0; first < tiled; first += kTile) {
    for (uint32_t i = 0; i < kTile; ++i) slices[i] = slice_of(first + i) * kTables + i % kTables;
    for (size_t i = 0; i < kTile; ++i) measures[i] = measure(first + i);
    for (size_t i = 0; i < kTile; ++i) sums[slices[i]] += measures[i];
  }
  for (size_t i = tiled; i < all; ++i) sums[slice_of(i) * kTables] += measure(i);
  for (size_t i = 0; i < kSlices; ++i) {
    const uint64_t* parts = sums + i * kTables;
    sums[i] = (parts[0] + parts[1]) + (parts[2] + parts[3]);
  }
  const auto border = static_cast<int64_t>(find_slice(sums, &target));
  // The ranks of that slice; the outer ones reach to the end.
  const int64_t begin = border == 0 ? 0 : least + (border << shift);
  const int64_t end = border == kSlices - 1 ? INT32_MAX : least + ((border + 1) << shift);
  const auto low = static_cast<int32_t>(begin);
  const auto high = static_cast<int32_t>(std::min(end, int64_t{INT32_MAX}));
  const auto belongs = [=](size_t i) {
    const auto r = static_cast<int32_t>(rank(i));
    return (r >= low) & (r < high);
  };
  const size_t collected = collect(all, belongs, key, keys);
  return find_border_key(candidates, {keys, collected}, measure, target);
}

// The order of descending logits. max() is not kLowest.
template <typename Measure>
uint64_t find_likely_border(Candidates& candidates, Measure measure, uint64_t target) {
  const float* shares = candidates.shares();
  const float* logits = candidates.logits();
  const auto rank = [shares](size_t i) {
    return std::bit_cast<uint32_t>(1.0f) - std::bit_cast<uint32_t>(shares[i]);
  };
  const auto key = [logits](size_t i) { return sort_key(logits[i], i); };
  return find_border(candidates, rank, key, measure, target);
}

// The keys of all if they are few, or of some of the likeliest, among which borders mostly
// are where the distribution has a peak; in order of id. Empty where it has none.
std::span<uint64_t> likely_keys(Candidates& candidates);

template <typename Measure>
uint64_t sum_of(std::span<const uint64_t> keys, Measure measure) {
  uint64_t sum = 0;
  for (const uint64_t key : keys) sum += measure(key_index(key));
  return sum;
}

// The keys of the `size` most likely, 1 ... count(), sorted. They hold until the next call of
// a member of the candidates.
std::span<uint64_t> sorted_prefix(Candidates& candidates, size_t size);

// The key of the `rank`th in the order of descending logits, 1 ... count().
uint64_t key_of_rank(Candidates& candidates, size_t rank);

}  // namespace sotto
