#include "runtime/sampling/ranking.h"

#include <cassert>
#include <cmath>
#include <cstring>
#include <functional>

#include "kernels/math.h"
#include "runtime/base/scalar_math.h"

namespace sotto {

namespace {

constexpr size_t kStep = 1024;  // number of tokens for one call of a vectorized operation

// If more tokens than this are left, another pass over the logits reduces their number before select() runs.
constexpr size_t kMaxSelected = 8192;

constexpr size_t kMinEstimated = 4096;  // minimum number of logits for an estimate of the border
constexpr size_t kSampleSize = kMinEstimated / 2;

// A histogram of the weights in an evenly spaced sample of logits. Bucket 0 contains the largest logits.
struct Histogram {
  struct Bucket {
    float sum;
    float squares;
  };

  float top_of(size_t bucket) const { return highest - static_cast<float>(bucket) * width; }

  float highest = 0;  // the largest finite logit of the sample
  float width = 0;    // size of a bucket
  Bucket buckets[kBucketCount] = {};
};

// Computes the histogram of `sampled` logits. If `weights` is null, every weight is 1. Returns false if there are no
// buckets, because the finite logits are too close together or too far apart.
bool make_histogram(std::span<const float> logits, const float* weights, size_t sampled, Histogram* histogram) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  const size_t stride = logits.size() / sampled;
  float lowest = kLargest, highest = -kLargest;  // range of the finite logits
  for (size_t i = 0; i < sampled; ++i) {
    const float l = logits[i * stride];
    if (!(std::fabs(l) <= kLargest)) continue;
    lowest = std::min(lowest, l);
    highest = std::max(highest, l);
  }
  const float width = (highest - lowest) / kBucketCount;
  const float inverse_width = 1 / width;
  if (!(width > 0 && std::max(width, inverse_width) <= kLargest)) return false;
  histogram->highest = highest;
  histogram->width = width;
  for (size_t i = 0; i < sampled; ++i) {
    const float l = logits[i * stride];
    const float bounded = std::min(l > lowest ? l : lowest, highest);
    const auto bucket_index = static_cast<uint32_t>((highest - bounded) * inverse_width);
    Histogram::Bucket& bucket = histogram->buckets[std::min<size_t>(bucket_index, kBucketCount - 1)];
    const float weight = weights == nullptr ? 1.0f : weights[i * stride];
    bucket.sum += weight;
    bucket.squares += weight * weight;
  }
  return true;
}

// Estimates an interval of logits that contains the border. The border is the logit at which the weights, summed from
// the largest logit down, reach `target`. If `weights` is null, every weight is 1. `total` is the sum of all weights.
// `target` and `total` are in fixed point. The result may be wrong. Its floor is -infinity if nothing can be estimated.
//
// A histogram of a sample gives the estimate. The interval extends three standard deviations to either side of it. The
// code compares variances, because deviations would cost a square root per bucket.
LogitRange estimate_border(std::span<const float> logits, const float* weights, uint64_t total, uint64_t target) {
  LogitRange range = {kMinusInfinity, kNoCeiling};
  // Ranks need fewer samples than weights, which vary in size.
  const size_t sampled = weights == nullptr ? kSampleSize / 2 : kSampleSize;
  Histogram histogram;
  if (!make_histogram(logits, weights, sampled, &histogram)) return range;
  // The variance of a sum over the sample is estimated by the sum of the squares.
  double all_squares = 0, above = 0;
  for (const Histogram::Bucket& bucket : histogram.buckets) {
    all_squares += static_cast<double>(bucket.squares);
    above += static_cast<double>(bucket.sum);
  }
  // The total is known, so the sum above a bucket's top also determines the sum below it. The estimate uses the one
  // with the smaller deviation.
  const double scale = 0x1p-40 * static_cast<double>(sampled) / static_cast<double>(logits.size());
  const double all = scale * static_cast<double>(total);
  const double below_wanted = scale * static_cast<double>(total - target);
  double below = 0, below_squares = 0;
  for (size_t i = kBucketCount - 1; i > 0; --i) {
    const Histogram::Bucket& bucket = histogram.buckets[i];
    if (bucket.sum == 0) continue;
    below += static_cast<double>(bucket.sum);
    above -= static_cast<double>(bucket.sum);
    below_squares += static_cast<double>(bucket.squares);
    const bool uses_below = below_squares <= all_squares - below_squares;
    const double variance = 9 * std::max(0.0, std::min(below_squares, all_squares - below_squares));
    const double sum = uses_below ? below : above;
    if (!(sum > 0 && sum * sum > variance)) continue;  // less than three standard deviations
    const double distance = below_wanted - (uses_below ? below : all - above);
    if (distance >= 0 && distance * distance >= variance) range.floor = histogram.top_of(i);
    if (distance < 0 && distance * distance > variance) {
      range.ceiling = histogram.top_of(i);
      break;
    }
  }
  return range;
}

}  // namespace

void Ranking::layout(Arena& arena, size_t vocabulary_size, const SamplerScratch& scratch) {
  capacity_ = vocabulary_size;
  scratch_ = scratch;
  block_maxima_ = arena.take<float>(2 * divide_up(vocabulary_size, kBlock));
  ones_ = arena.take<float>(kStep);
}

void Ranking::init() { std::fill_n(ones_, kStep, 1.0f); }

void Ranking::set(const Kernels& kernels, std::span<const float> logits) {
  kernels_ = &kernels;
  logits_ = logits.data();
  count_ = logits.size();
  has_max_ = has_block_maxima_ = false;
}

void Ranking::truncate(std::span<const float> logits) {
  logits_ = logits.data();
  count_ = logits.size();
  has_block_maxima_ = false;
}

float Ranking::max() {
  if (!has_max_) {
    max_ = has_block_maxima_ ? kernels_->max(block_maxima_, divide_up(count_, kBlock)) : kernels_->max(logits_, count_);
    has_max_ = true;
  }
  return max_;
}

size_t Ranking::argmax() const {
  const size_t best = kernels_->argmax(logits_, count_);
  return logits_[best] > kMinusInfinity ? best : 0;
}

const float* Ranking::block_maxima() {
  if (!has_block_maxima_) {
    const size_t blocks = divide_up(count_, kBlock);
    for (size_t b = 0; b < blocks; ++b) {
      block_maxima_[b] = kernels_->max(logits_ + b * kBlock, std::min(kBlock, count_ - b * kBlock));
    }
    has_block_maxima_ = true;
  }
  return block_maxima_;
}

float Ranking::lower_bound_of_rank(size_t k) {
  assert(k > 0);
  const size_t blocks = divide_up(count_, kBlock);
  if (k > blocks) return kMinusInfinity;
  float* order = block_maxima_ + divide_up(capacity_, kBlock);
  std::memcpy(order, block_maxima(), blocks * sizeof *order);
  std::nth_element(order, order + (k - 1), order + blocks, std::greater<float>());
  return order[k - 1];
}

// Sums the weights above the range and collects the indices of the tokens in the range, in ascending order. If
// `weights` is null, every weight is 1.
CollectedSum Ranking::sum_and_collect(LogitRange range, const float* weights) {
  CollectedSum all = {};
  const size_t step = has_block_maxima_ ? kBlock : kStep;
  for (size_t first = 0; first < count_; first += step) {
    if (has_block_maxima_ && !(block_maxima_[first / kBlock] >= range.floor)) continue;
    const size_t count = std::min(step, count_ - first);
    const CollectedSum part = kernels_->sum_and_collect(logits_ + first, range.floor, range.ceiling,
                                                        weights == nullptr ? ones_ : weights + first,
                                                        static_cast<int32_t>(first), count, indices() + all.collected);
    all.sum += part.sum;
    all.collected += part.collected;
  }
  return all;
}

// Replaces the first `count` collected indices by their keys.
std::span<uint64_t> Ranking::keys_of_indices(size_t count) {
  const int32_t* all = indices();
  for (size_t i = 0; i < count; ++i) {
    const auto index = static_cast<size_t>(all[i]);
    scratch_.keys[i] = sort_key(logits_[index], index);
  }
  return {scratch_.keys, count};
}

std::span<uint64_t> Ranking::keys_from(float floor) {
  if (floor > kMinusInfinity) return keys_of_indices(sum_and_collect({floor, kNoCeiling}, nullptr).collected);
  for (size_t i = 0; i < count_; ++i) scratch_.keys[i] = sort_key(logits_[i], i);
  return {scratch_.keys, count_};
}

// Returns the key of the border if the border has this logit. Otherwise returns kNoKey, and reduces the range to the
// logits on the border's side of this logit.
uint64_t Ranking::find_among_equals(float logit, const float* weights, uint64_t target, LogitRange* range) {
  if (!(logit > kMinusInfinity && logit < std::numeric_limits<float>::infinity())) return kNoKey;
  const CollectedSum equal = sum_and_collect({logit, next_above(logit)}, weights);
  if (equal.collected == 0) return kNoKey;
  const uint64_t each = to_fixed(weights == nullptr ? 1.0f : weights[indices()[0]]);
  if (equal.sum >= target) {
    range->floor = next_above(logit);
  } else if (equal.sum + each * equal.collected < target) {
    range->ceiling = logit;
  } else {
    return sort_key(logit, static_cast<size_t>(indices()[(target - equal.sum - 1) / each]));
  }
  return kNoKey;
}

// Returns the key at which the running sum of weights, in the order of ascending keys, reaches `target`, or kNoKey if
// it never does. If `weights` is null, every weight is 1. Permutes the keys.
uint64_t Ranking::select(std::span<uint64_t> keys, const float* weights, uint64_t target) {
  if (weights != nullptr) {
    return select_by_sum(
        keys, [=](size_t i) { return to_fixed(weights[i]); }, target, scratch_.bucket_sums);
  }
  const uint64_t rank = target >> kFixedBits;
  if (rank > keys.size()) return kNoKey;
  const auto at = keys.begin() + static_cast<ptrdiff_t>(rank - 1);
  std::nth_element(keys.begin(), at, keys.end());
  return *at;
}

// Returns the key at which the sum of weights in sorted order reaches `target`, as ranking.h describes. If `weights` is
// null, every weight is 1.
uint64_t Ranking::find_border(const float* weights, uint64_t total, uint64_t target) {
  constexpr int kRounds = 8;
  if (count_ >= kMinEstimated) {
    LogitRange range = estimate_border({logits_, count_}, weights, total, target);
    if (range.floor > kMinusInfinity) {
      CollectedSum found = sum_and_collect(range, weights);
      if (found.sum >= target) {  // the estimate was too low
        range = {range.ceiling, kNoCeiling};
        found = sum_and_collect(range, weights);
      }
      // Usually more than kMaxSelected tokens remain only if many logits are equal.
      for (int round = 0; round < kRounds && found.collected > kMaxSelected; ++round) {
        const float middle = logits_[indices()[found.collected / 2]];
        const uint64_t key = find_among_equals(middle, weights, target, &range);
        if (key != kNoKey) return key;
        found = sum_and_collect(range, weights);
      }
      const uint64_t key = select(keys_of_indices(found.collected), weights, target - found.sum);
      if (key != kNoKey) return key;
    }
    const uint64_t key = find_among_equals(logits_[0], weights, target, &range);
    if (key != kNoKey) return key;
  }
  return select(keys_from(kMinusInfinity), weights, target);
}

uint64_t Ranking::key_of_rank(size_t rank) {
  assert(rank >= 1 && rank <= count_);
  if (rank == 1) {
    const size_t best = argmax();
    return sort_key(logits_[best], best);
  }
  const uint64_t target = uint64_t{rank} << kFixedBits;
  const float reached = lower_bound_of_rank(rank);
  if (reached > kMinusInfinity) {
    const size_t reaching = sum_and_collect({reached, kNoCeiling}, nullptr).collected;
    if (reaching <= kMaxSelected) return select(keys_of_indices(reaching), nullptr, target);
    // Many tokens reach the floor because their logits are equal.
    LogitRange range = {reached, kNoCeiling};
    const uint64_t key = find_among_equals(reached, nullptr, target, &range);
    if (key != kNoKey) return key;
  }
  return find_border(nullptr, uint64_t{count_} << kFixedBits, target);
}

uint64_t Ranking::find_prefix(const float* weights, uint64_t total, uint64_t target) {
  constexpr size_t kSmallSet = 1024, kLikeliest = 128;
  constexpr uint64_t kPeaked = uint64_t{100} << kFixedBits;  // the largest weight is 1, so its probability is above 1%
  // In a peaked distribution, the border is usually among the most likely tokens.
  const float floor = count_ > kSmallSet && total < kPeaked ? lower_bound_of_rank(kLikeliest) : kMinusInfinity;
  if (count_ <= kSmallSet || floor > kMinusInfinity) {
    const uint64_t key = select(keys_from(floor), weights, target);
    if (key != kNoKey) return key;
  }
  return find_border(weights, total, target);
}

std::span<uint64_t> Ranking::sorted_prefix(size_t size) {
  std::span<uint64_t> keys = keys_from(lower_bound_of_rank(size));
  if (size < keys.size()) {
    std::nth_element(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(size - 1), keys.end());
    keys = keys.first(size);
  }
  sort_numbers(keys.begin(), keys.end());
  return keys;
}

}  // namespace sotto
