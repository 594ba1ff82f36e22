// Where a truncation ends: in an order of the tokens, the one at which the running sum of a
// measure first reaches a target. Nothing is sorted but the last few: a sample tells between
// which tokens the border lies, a pass sums what is above them, and further passes sum the
// measure over slices of the order and go on with the slice that holds the border.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "runtime/base/sort.h"
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
// it are taken; `count` if it does not.
inline size_t find_slice(const uint64_t* sums, size_t count, uint64_t* target) {
  size_t slice = 0;
  while (slice < count && sums[slice] < *target) *target -= sums[slice++];
  return slice;
}

// The least and the most.
struct Extremes {
  uint64_t least;
  uint64_t most;
};
inline Extremes extremes_of(std::span<const uint64_t> keys) {
  constexpr size_t kParts = 4;  // so that none waits for the last
  uint64_t least[kParts], most[kParts];
  std::fill_n(least, kParts, keys[0]);
  std::fill_n(most, kParts, keys[0]);
  for (size_t i = keys.size() % kParts; i < keys.size(); i += kParts) {
    for (size_t k = 0; k < kParts; ++k) {
      least[k] = std::min(least[k], keys[i + k]);
      most[k] = std::max(most[k], keys[i + k]);
    }
  }
  for (size_t i = 0; i < keys.size() % kParts; ++i) {
    least[0] = std::min(least[0], keys[i]);
    most[0] = std::max(most[0], keys[i]);
  }
  return {*std::min_element(least, least + kParts), *std::max_element(most, most + kParts)};
}

inline constexpr uint64_t kNoKey = UINT64_MAX;

// The key of `keys` (ascending order in the high half, index in the low half, those of equal
// order ascending in place) at which the running sum of measure(index) reaches `target`, at
// least 1; kNoKey if it does not. Permutes the keys.
template <typename Measure>
uint64_t find_border_key(Candidates& candidates, std::span<uint64_t> keys, Measure measure, uint64_t target) {
  constexpr size_t kSorted = 128;
  constexpr int kSliceBits = 10;
  static_assert((1 << kSliceBits) <= Candidates::kBuckets);
  while (keys.size() > kSorted) {
    const auto [least_key, most_key] = extremes_of(keys);
    const uint64_t least = least_key >> 32, most = most_key >> 32;
    if (least == most) break;
    const int width = static_cast<int>(std::bit_width(most - least));
    const int shift = 32 + std::max(0, width - kSliceBits);
    uint64_t* sums = candidates.bucket_sums();
    std::fill_n(sums, size_t{1} << kSliceBits, 0);
    const uint64_t base = least << 32;
    for (const uint64_t key : keys) sums[(key - base) >> shift] += measure(key_index(key));
    const uint64_t slice = find_slice(sums, size_t{1} << kSliceBits, &target);
    if (slice == size_t{1} << kSliceBits) return kNoKey;
    size_t collected = 0;
    for (const uint64_t key : keys) {
      keys[collected] = key;
      collected += (key - base) >> shift == slice ? 1 : 0;
    }
    keys = keys.first(collected);
  }
  if (keys.size() <= kSorted) sort_numbers(keys.begin(), keys.end());
  for (const uint64_t key : keys) {
    const uint64_t m = measure(key_index(key));
    if (m >= target) return key;
    target -= m;
  }
  return kNoKey;
}

template <typename Measure>
uint64_t sum_of(std::span<const uint64_t> keys, Measure measure) {
  uint64_t sum = 0;
  for (const uint64_t key : keys) sum += measure(key_index(key));
  return sum;
}

// Numbers between which a border most likely lies.
struct Between {
  float floor;
  float ceiling;
};

// By an even sample of the tokens: the numbers by which they are ordered, descending, the
// values whose sum makes the border, and how many tokens one of them stands for. `behind`: the
// most that the values behind the border may sum to.
inline constexpr size_t kBorderSample = 2048;
Between estimate_border(const float* numbers, const float* values, double stride, double behind);

// Numbers by index are an array or a function, which may have a faster way to write many.
template <typename Numbers>
float number_at(Numbers numbers, size_t i) {
  if constexpr (std::is_pointer_v<Numbers>) {
    return numbers[i];
  } else {
    return numbers(i);
  }
}
template <typename Numbers>
const float* numbers_from(Numbers numbers, size_t first, size_t count, float* room) {
  if constexpr (std::is_pointer_v<Numbers>) {
    return numbers + first;
  } else if constexpr (requires { numbers.write(first, count, room); }) {
    numbers.write(first, count, room);
    return room;
  } else {
    for (size_t i = 0; i < count; ++i) room[i] = numbers(first + i);
    return room;
  }
}

// The order of tokens by descending logits; equal ones have equal values.
struct LikelyOrder {
  static constexpr bool kTiesHaveOneValue = true;
  const float* numbers;  // that are equal where keys differ in the low half alone
  uint64_t key(size_t i) const { return sort_key(numbers[i], i); }
};

// Collects the indices of the tokens between two numbers; returns how many, and the sum of the
// values of those above.
template <typename Numbers, typename Values>
Split collect_between(Candidates& candidates, Between range, Numbers numbers, Values values, double base) {
  constexpr size_t kChunk = Candidates::kChunk;
  float room[kChunk];
  Split all = {};
  for (size_t first = 0; first < candidates.count(); first += kChunk) {
    const size_t count = std::min(kChunk, candidates.count() - first);
    const Split split =
        candidates.kernels().split(numbers_from(numbers, first, count, candidates.chunk()), range.floor, range.ceiling,
                                   numbers_from(values, first, count, room), base, static_cast<int32_t>(first), count,
                                   candidates.indices() + all.collected);
    all.collected += split.collected;
    all.sum += split.sum;
  }
  return all;
}

// Whether all candidates measure `one`: they do so together, and none more.
template <typename Values>
bool all_measure(Candidates& candidates, Values values, uint64_t one, double base, uint64_t total) {
  if constexpr (std::is_pointer_v<Values>) {
    const size_t count = candidates.count();
    return total == one * count && integer_of(candidates.kernels().max(values, count), base) == one;
  }
  return false;
}

// The key if the border is among those that tie with a token, by their number; else 0, which no
// key is.
template <typename Values, typename Order>
uint64_t find_tied_border(Candidates& candidates, size_t token, Values values, double base, Order order, uint64_t total,
                          uint64_t target) {
  const float number = number_at(order.numbers, token);
  const Split split = collect_between(candidates, {number, next_above(number)}, order.numbers, values, base);
  const uint64_t one = integer_of(number_at(values, token), base);
  if (split.sum >= target || split.sum + one * split.collected < target) return 0;
  const int32_t* tied = candidates.indices();
  const auto has_value = [=, value = number_at(values, token)](int32_t i) {
    return number_at(values, static_cast<size_t>(i)) == value;
  };
  if (!Order::kTiesHaveOneValue && !all_measure(candidates, values, one, base, total) &&
      !std::all_of(tied, tied + split.collected, has_value)) {
    return 0;
  }
  return order.key(static_cast<size_t>(tied[(target - split.sum - 1) / one]));
}

// The key as of find_border_key, among all candidates. Numbers, none of them NaN, descend in
// the order of keys, not necessarily strictly. The measure of a token is integer_of its value;
// `total`: of all.
template <typename Numbers, typename Values, typename Order>
uint64_t find_border(Candidates& candidates, Numbers numbers, Values values, double base, Order order, uint64_t total,
                     uint64_t target) {
  const auto measure = [=](size_t i) { return integer_of(number_at(values, i), base); };
  const size_t all = candidates.count();
  uint64_t* keys = candidates.keys();
  if (all < 2 * kBorderSample) {
    for (size_t i = 0; i < all; ++i) keys[i] = order.key(i);
    return find_border_key(candidates, {keys, all}, measure, target);
  }
  float* sample = candidates.whole();
  const size_t stride = all / kBorderSample;
  for (size_t i = 0; i < kBorderSample; ++i) {
    sample[i] = number_at(numbers, i * stride);
    sample[kBorderSample + i] = number_at(values, i * stride);
  }
  const auto is_first = [=](float number) { return number == sample[0]; };
  if (std::all_of(sample, sample + kBorderSample, is_first)) {
    // Most likely all are equal.
    const uint64_t key = find_tied_border(candidates, 0, values, base, order, total, target);
    if (key != 0) return key;
  }
  Between range = estimate_border(sample, sample + kBorderSample, static_cast<double>(all) / kBorderSample,
                                  static_cast<double>(total - target) * base * 0x1p-52);
  constexpr size_t kMany = 8192;
  bool may_not_tie = false;
  for (;;) {
    const Split split = collect_between(candidates, range, numbers, values, base);
    const std::span<const int32_t> between = {candidates.indices(), split.collected};
    if (split.sum >= target) {
      range = {range.ceiling, std::numeric_limits<float>::infinity()};
      continue;
    }
    if (between.size() > kMany && !may_not_tie) {
      // So many mostly are equal.
      const auto one_of_them = static_cast<size_t>(between[between.size() / 2]);
      const uint64_t key = find_tied_border(candidates, one_of_them, values, base, order, total, target);
      if (key != 0) return key;
      may_not_tie = true;
      continue;
    }
    for (size_t i = 0; i < between.size(); ++i) {
      keys[i] = order.key(static_cast<size_t>(between[i]));
    }
    const uint64_t key = find_border_key(candidates, {keys, split.collected}, measure, target - split.sum);
    if (key != kNoKey) return key;
    range = {-std::numeric_limits<float>::infinity(), range.floor};
  }
}

// The order of descending logits. max() is not kLowest.
template <typename Values>
uint64_t find_likely_border(Candidates& candidates, Values values, double base, uint64_t total, uint64_t target) {
  return find_border(candidates, candidates.shares(), values, base, LikelyOrder{candidates.logits()}, total, target);
}

// The keys of all if they are few, or of some of the likeliest, among which borders mostly
// are where the distribution has a peak; in order of id. Empty where it has none.
std::span<uint64_t> likely_keys(Candidates& candidates);

// The keys of the `size` most likely, 1 ... count(), sorted. They hold until the next call of
// a member of the candidates.
std::span<uint64_t> sorted_prefix(Candidates& candidates, size_t size);

// The key of the `rank`th in the order of descending logits, 1 ... count().
uint64_t key_of_rank(Candidates& candidates, size_t rank);

}  // namespace sotto
