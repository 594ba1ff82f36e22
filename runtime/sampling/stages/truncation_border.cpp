#include "runtime/sampling/stages/truncation_border.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <functional>

namespace sotto {

namespace {

constexpr size_t kSampled = 1024;
constexpr size_t kMostCollected = 8 * kSampled;

uint64_t rank_among(Candidates& candidates, std::span<uint64_t> keys, size_t rank) {
  if (keys.size() > 4 * kSampled) {
    return find_border_key(
        candidates, keys, [](size_t) { return uint64_t{1}; }, rank);
  }
  const auto place = keys.begin() + static_cast<ptrdiff_t>(rank - 1);
  std::nth_element(keys.begin(), place, keys.end());
  return *place;
}

// Logits between which the rank most likely lies, by that of an even sample.
Between estimate(Candidates& candidates, size_t rank) {
  float* sample = candidates.chunk();
  const size_t stride = candidates.count() / kSampled;
  for (size_t i = 0; i < kSampled; ++i) {
    const float l = candidates.logit(i * stride);
    sample[i] = l == l ? l : Candidates::kLowest;
  }
  const double expected = static_cast<double>(rank) / static_cast<double>(stride);
  const double margin = 4 * std::sqrt(expected) + 8;  // four standard deviations
  Between between = {Candidates::kLowest, Candidates::kNoCeiling};
  float* end = sample + kSampled;  // of those that reach the floor
  if (expected + margin < kSampled) {
    float* place = sample + static_cast<size_t>(expected + margin);
    std::nth_element(sample, place, end, std::greater<float>());
    between.floor = *place;
    end = place + 1;
  }
  if (expected - margin > 0) {
    float* place = sample + static_cast<size_t>(expected - margin);
    std::nth_element(sample, place, end, std::greater<float>());
    between.ceiling = *place;
  }
  return between;
}

// The key of the rank if it is among those of just this logit; else 0, which is no key.
uint64_t rank_among_equals(Candidates& candidates, float logit, size_t rank) {
  const auto [above, equal] = candidates.count_between(logit, next_above(logit));
  if (rank <= above || rank > above + equal) return 0;
  return sort_key(logit, static_cast<size_t>(candidates.indices()[rank - above - 1]));
}

// Floats by numbers that ascend where they descend, and back.
uint32_t descending(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return (bits >> 31) != 0 ? bits : bits ^ 0x7fffffff;
}
float from_descending(uint32_t rank) { return std::bit_cast<float>((rank >> 31) != 0 ? rank : rank ^ 0x7fffffff); }

}  // namespace

Between estimate_border(const float* numbers, const float* values, double stride, double behind) {
  constexpr uint32_t kSlices = 1024;
  struct Slice {
    float sum;
    float squares;
  } slices[kSlices] = {};
  uint32_t least = UINT32_MAX, most = 0;
  for (size_t i = 0; i < kBorderSample; ++i) {
    least = std::min(least, descending(numbers[i]));
    most = std::max(most, descending(numbers[i]));
  }
  const int shift = std::clamp(static_cast<int>(std::bit_width(most - least)) - 10, 0, 18);
  for (size_t i = 0; i < kBorderSample; ++i) {
    Slice& slice = slices[std::min((descending(numbers[i]) - least) >> shift, kSlices - 1)];
    slice.sum += values[i];
    slice.squares += values[i] * values[i];
  }
  // What is behind a slice's begin sums to stride * sum, give or take three standard deviations
  // of that, of which nine equal values are the least that say anything.
  Between between = {Candidates::kLowest, std::numeric_limits<float>::infinity()};
  double sum = 0, squares = 0;
  for (uint32_t slice = kSlices - 1; slice > 0; --slice) {
    sum += static_cast<double>(slices[slice].sum);
    squares += static_cast<double>(slices[slice].squares);
    const double deviation = 3 * std::sqrt(squares);
    if (!(sum > deviation)) continue;
    const float last_before = from_descending(least + (slice << shift) - 1);
    if (stride * (sum + deviation) <= behind) between.floor = last_before;
    if (stride * (sum - deviation) > behind) {
      between.ceiling = last_before;
      break;
    }
  }
  return between;
}

uint64_t key_of_rank(Candidates& candidates, size_t rank) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const size_t count = candidates.count();
  assert(rank >= 1 && rank <= count);
  if (rank == 1) {
    const size_t best = candidates.argmax();
    return sort_key(candidates.logit(best), best);
  }
  const float reached = candidates.reached_by(rank);
  if (count < 2 * kSampled) {
    return rank_among(candidates, candidates.collect_keys(reached), rank);
  }
  const Between between =
      reached > Candidates::kLowest ? Between{reached, Candidates::kNoCeiling} : estimate(candidates, rank);
  if (between.floor > Candidates::kLowest && between.floor < kInfinity) {
    const auto [above, collected] = candidates.count_between(between.floor, between.ceiling);
    const bool has_rank = above < rank && above + collected >= rank;
    if (has_rank && collected <= kMostCollected) {
      return rank_among(candidates, candidates.keys_of_indices(collected), rank - above);
    }
    // Where they are many, they mostly are equal.
    for (const float tied : {between.floor, between.ceiling}) {
      if (!(tied < kInfinity)) continue;
      if (const uint64_t key = rank_among_equals(candidates, tied, rank); key != 0) return key;
    }
  }
  return rank_among(candidates, candidates.collect_keys(Candidates::kLowest), rank);
}

std::span<uint64_t> likely_keys(Candidates& candidates) {
  constexpr size_t kFew = 1024, kLikeliest = 128;
  constexpr uint64_t kPeaked = uint64_t{100} << kWeightBits;  // max p above 1%
  if (candidates.count() <= kFew) return candidates.collect_keys(Candidates::kLowest);
  if (candidates.total_weight() >= kPeaked) return {};
  const float floor = candidates.reached_by(kLikeliest);
  if (!(floor > Candidates::kLowest)) return {};
  return candidates.collect_keys(floor);
}

std::span<uint64_t> sorted_prefix(Candidates& candidates, size_t size) {
  if (size == candidates.count()) {
    const std::span<uint64_t> all = candidates.collect_keys(Candidates::kLowest);
    sort_numbers(all.begin(), all.end());
    return all;
  }
  const std::span<uint64_t> keys = candidates.collect_up_to(key_of_rank(candidates, size));
  assert(keys.size() == size);
  sort_numbers(keys.begin(), keys.end());
  return keys;
}

}  // namespace sotto
