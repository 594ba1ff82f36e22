#include "runtime/sampling/truncation_border.h"

#include <bit>
#include <cmath>
#include <functional>

namespace sotto {

namespace {

constexpr size_t kSampled = 1024;

uint64_t rank_among(Candidates& candidates, std::span<uint64_t> keys, size_t rank) {
  if (keys.size() > 4 * kSampled) {
    return find_border_key(candidates, keys, [](size_t) { return uint64_t{1}; }, rank);
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
  Between between = {Candidates::kLowest, std::numeric_limits<float>::infinity()};
  if (expected + margin < kSampled) {
    float* place = sample + static_cast<size_t>(expected + margin);
    std::nth_element(sample, place, sample + kSampled, std::greater<float>());
    between.floor = *place;
  }
  if (expected - margin > 0) {
    float* place = sample + static_cast<size_t>(expected - margin);
    std::nth_element(sample, place, sample + kSampled, std::greater<float>());
    between.ceiling = *place;
  }
  return between;
}

// Floats by numbers that ascend where they descend, and back.
uint32_t descending(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return (bits >> 31) != 0 ? bits : bits ^ 0x7fffffff;
}
float from_descending(uint32_t rank) {
  return std::bit_cast<float>((rank >> 31) != 0 ? rank : rank ^ 0x7fffffff);
}

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
  const size_t count = candidates.count();
  assert(rank >= 1 && rank <= count);
  const float reached = candidates.reached_by(rank);
  if (reached > Candidates::kLowest || count < 2 * kSampled) {
    return rank_among(candidates, candidates.collect_keys(reached), rank);
  }
  const Between between = estimate(candidates, rank);
  const float floor = between.floor, ceiling = between.ceiling;
  const float* logits = candidates.logits();
  uint64_t* keys = candidates.keys();
  size_t above = 0;
  for (size_t i = 0; i < count; ++i) above += logits[i] >= ceiling ? 1 : 0;
  const size_t collected = collect(
      count, [=](size_t i) { return (logits[i] >= floor) & (logits[i] < ceiling); },
      [=](size_t i) { return sort_key(logits[i], i); }, keys);
  if (above < rank && above + collected >= rank) {
    return rank_among(candidates, {keys, collected}, rank - above);
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
    std::sort(all.begin(), all.end());
    return all;
  }
  const uint64_t last = key_of_rank(candidates, size);
  const std::span<uint64_t> keys = candidates.collect_keys(candidates.logit(key_index(last)));
  const auto end = std::partition(keys.begin(), keys.end(),
                                  [last](uint64_t key) { return key <= last; });
  std::sort(keys.begin(), end);
  return keys.first(size);
}

}  // namespace sotto
