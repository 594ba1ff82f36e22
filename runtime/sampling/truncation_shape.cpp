// The truncations that look at the shape of the distribution: top-h, typical, tail-free, XTC.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/base/scalar_math.h"
#include "runtime/sampling/truncation.h"
#include "runtime/sampling/truncation_border.h"

namespace sotto {

namespace {

constexpr double kBase = 0x1p16;  // in [2^16, 2^17) a double's last bit is 2^-36

bool is_empty(Candidates& candidates) { return candidates.max() == Candidates::kLowest; }

// -p ln p = share (gap + ln total) / total, without the division.
struct Surprise {
  const float* shares;
  Gaps gap;
  float log_total;
  const Kernels* kernels;

  float operator()(size_t i) const {
    return zero_unless(shares[i] > 0, shares[i] * (gap(i) + log_total));
  }
  uint64_t write(size_t first, size_t count, float* room) const {
    return kernels->surprises(gap.logits + first, shares + first, count, gap.max,
                              gap.inverse_temperature, log_total, kBase, room);
  }
};

}  // namespace

void top_h(Candidates& candidates, float h, size_t min_keep) {
  if (!(h < 1) || is_empty(candidates) || min_keep >= candidates.count()) return;
  // As integers, multiples of 2^-36.
  const float* shares = candidates.shares();
  const Surprise value = {shares, candidates.gaps(), static_cast<float>(ln(candidates.total())),
                          &candidates.kernels()};
  const auto surprise = [value](size_t i) { return integer_of(value(i), kBase); };
  uint64_t total = 0;
  for (size_t first = 0; first < candidates.count(); first += Candidates::kChunk) {
    const size_t count = std::min(Candidates::kChunk, candidates.count() - first);
    total += value.write(first, count, candidates.chunk());
  }
  if (total == 0) return candidates.keep_up_to(key_of_rank(candidates, min_keep));
  const double most = std::floor(static_cast<double>(h) * static_cast<double>(total));
  const uint64_t target = std::min(static_cast<uint64_t>(most) + 1, total);
  // The border is the first token that is too much.
  std::span<uint64_t> keys = likely_keys(candidates);
  if (sum_of(keys, surprise) < target) keys = {};
  const uint64_t border = keys.empty() ? find_likely_border(candidates, value, kBase, total,
                                                            target)
                                       : find_border_key(candidates, keys, surprise, target);
  const uint64_t least = key_of_rank(candidates, min_keep);
  if (border <= least) return candidates.keep_up_to(least);
  candidates.keep_before(border);
}

namespace {

// |-ln p - H| = |gap - center|, negative.
struct Nearness {
  Gaps gap;
  float center;
  const Kernels* kernels;

  float operator()(size_t i) const {
    constexpr float kFarthest = -std::numeric_limits<float>::infinity();
    const float near = -std::fabs(gap(i) - center);
    return near > kFarthest ? near : kFarthest;  // not NaN
  }
  void write(size_t first, size_t count, float* room) const {
    kernels->nearness(gap.logits + first, count, gap.max, gap.inverse_temperature, center, room);
  }
};

// The nearest first.
template <typename Numbers>
struct NearOrder {
  static constexpr bool kTiesHaveOneValue = false;
  Numbers numbers;
  uint64_t key(size_t i) const {
    return uint64_t{std::bit_cast<uint32_t>(-number_at(numbers, i))} << 32 | i;
  }
};

// `keys`: of some of the likeliest, or empty; who is not among them is less near than `away`.
template <typename Numbers>
void keep_near(Candidates& candidates, Numbers nearness, uint64_t target, size_t min_keep,
               std::span<uint64_t> keys, float away) {
  const NearOrder<Numbers> order = {nearness};
  const auto distance = [](uint64_t k) {
    return std::bit_cast<float>(static_cast<uint32_t>(k >> 32));
  };
  const float* shares = candidates.shares();
  const auto weight = [shares](size_t i) { return weight_of(shares[i]); };
  for (uint64_t& k : keys) k = order.key(key_index(k));
  if (sum_of(keys, weight) < target) keys = {};
  uint64_t border = keys.empty() ? 0 : find_border_key(candidates, keys, weight, target);
  if (keys.empty() || !(distance(border) < away)) {
    border = find_border(candidates, nearness, shares, kWeightBase, order,
                         candidates.total_weight(), target);
  }
  if (min_keep > 1) {
    const auto one = [](size_t) { return 1.0f; };
    border = std::max(border, find_border(candidates, nearness, one, kWeightBase, order,
                                          weight_of(1) * candidates.count(),
                                          weight_of(1) * min_keep));
  }
  candidates.keep_by(
      [&](size_t first, size_t count) {
        return numbers_from(nearness, first, count, candidates.chunk());
      },
      -distance(border), key_index(border) + 1);
}

}  // namespace

void typical(Candidates& candidates, float mass, size_t min_keep) {
  if (!(mass < 1) || is_empty(candidates) || min_keep >= candidates.count()) return;
  const uint64_t total = candidates.total_weight();
  const auto center = static_cast<float>(candidates.entropy() - ln(candidates.total()));
  const Nearness nearness = {candidates.gaps(), center, &candidates.kernels()};
  const double share = std::ceil(static_cast<double>(mass) * static_cast<double>(total));
  const uint64_t target = std::clamp<uint64_t>(static_cast<uint64_t>(share), 1, total);
  const std::span<uint64_t> keys = likely_keys(candidates);
  float* room = candidates.unused_own();
  if (!keys.empty() || room == nullptr) {
    const uint64_t last = keys.empty() ? 0 : *std::max_element(keys.begin(), keys.end());
    const float away = nearness.gap(key_index(last)) - center;
    return keep_near(candidates, nearness, target, min_keep, keys, away);
  }
  // Twice to be read: once to find the border, once to keep.
  const float* known = numbers_from(nearness, 0, candidates.count(), room);
  keep_near(candidates, known, target, min_keep, keys, 0);
}

namespace {

// Sorted shares, the largest first.
class SortedShares {
 public:
  // Of the few tokens with these keys, sorted.
  SortedShares(Candidates& candidates, std::span<const uint64_t> keys)
      : kernels_(candidates.kernels()),
        shares_(reinterpret_cast<uint32_t*>(candidates.bucket_sums())),
        size_(keys.size()) {
    const float* shares = candidates.shares();
    for (size_t i = 0; i < size_; ++i) {
      shares_[i] = std::bit_cast<uint32_t>(shares[key_index(keys[i])]);
    }
  }
  // Of `indices`, which may be in the upper half of the keys' place.
  SortedShares(Candidates& candidates, std::span<const int32_t> indices)
      : kernels_(candidates.kernels()), size_(indices.size()) {
    const float* shares = candidates.shares();
    auto* from = reinterpret_cast<uint32_t*>(candidates.keys());
    for (size_t i = 0; i < size_; ++i) {
      from[i] = distance(shares[static_cast<size_t>(indices[i])]);
    }
    sort(from, candidates.bucket_sums());
  }
  // Of all.
  explicit SortedShares(Candidates& candidates)
      : kernels_(candidates.kernels()), size_(candidates.count()) {
    const float* shares = candidates.shares();
    auto* from = reinterpret_cast<uint32_t*>(candidates.keys());
    for (size_t i = 0; i < size_; ++i) from[i] = distance(shares[i]);
    sort(from, candidates.bucket_sums());
  }

  size_t size() const { return size_; }
  size_t bend_count() const { return size_ - 2; }
  float share(size_t rank) const { return std::bit_cast<float>(shares_[rank]); }
  // |(p - next p) - (next p - the p after)|; of numbers so near each other, differences are
  // mostly exact.
  float bend(size_t rank) const {
    return std::fabs((share(rank) - share(rank + 1)) - (share(rank + 1) - share(rank + 2)));
  }
  // Of bends [first, end).
  double sum_of_bends(size_t first, size_t end) const {
    return kernels_.sum_bends(reinterpret_cast<const float*>(shares_) + first, end - first);
  }

 private:
  static constexpr uint32_t kLargest = 0x3f800000;  // 1
  static constexpr int kDigitBits = 9;
  static constexpr int kMostDigits = 4;
  static constexpr size_t kDigits = size_t{1} << kDigitBits;
  static_assert(kMostDigits * kDigits * sizeof(uint32_t) <=
                Candidates::kBuckets * sizeof(uint64_t));
  static_assert(kLargest >> kMostDigits * kDigitBits / 2 >> kMostDigits * kDigitBits / 2 == 0);

  // From the largest.
  static uint32_t distance(float share) { return kLargest - std::bit_cast<uint32_t>(share); }

  // Sorts distances, a digit after the other from the lowest, between two places behind each
  // other.
  void sort(uint32_t* from, uint64_t* room) {
    uint32_t* to = from + size_;
    uint32_t farthest = 0;
    for (size_t i = 0; i < size_; ++i) farthest |= from[i];
    const int digits = (std::bit_width(farthest) + kDigitBits - 1) / kDigitBits;
    auto* places = reinterpret_cast<uint32_t(*)[kDigits]>(room);
    digits < kMostDigits ? count_digits<kMostDigits - 1>(from, places)
                         : count_digits<kMostDigits>(from, places);
    void (*const passes[])(const uint32_t*, size_t, uint32_t*, uint32_t*) = {
        sort_by<0>, sort_by<1>, sort_by<2>, sort_by<3>};
    for (int digit = 0; digit < digits; ++digit) {
      passes[digit](from, size_, places[digit], to);
      std::swap(from, to);
    }
    for (size_t i = 0; i < size_; ++i) from[i] = kLargest - from[i];
    shares_ = from;
  }

  template <int kCounted>
  void count_digits(const uint32_t* numbers, uint32_t (*counts)[kDigits]) const {
    std::fill_n(&counts[0][0], kMostDigits * kDigits, 0);
    for (size_t i = 0; i < size_; ++i) {
      uint32_t number = numbers[i];
      for (int digit = 0; digit < kCounted; ++digit, number >>= kDigitBits) {
        ++counts[digit][number & (kDigits - 1)];
      }
    }
  }

  // `places`: how many there are of each digit.
  template <int kDigit>
  static void sort_by(const uint32_t* from, size_t size, uint32_t* places, uint32_t* to) {
    constexpr size_t kUnrolled = 8;
    uint32_t next = 0;
    for (size_t digit = 0; digit < kDigits; ++digit) next += std::exchange(places[digit], next);
    const auto move = [=](uint32_t number) {
      const size_t digit = number >> kDigit * kDigitBits & (kDigits - 1);
      const uint32_t place = places[digit];
      places[digit] = place + 1;
      to[place] = number;
    };
    size_t i = 0;
    for (; i + kUnrolled <= size; i += kUnrolled) {
      for (size_t k = 0; k < kUnrolled; ++k) move(from[i + k]);
    }
    for (; i < size; ++i) move(from[i]);
  }

  const Kernels& kernels_;
  uint32_t* shares_;
  size_t size_;
};

struct Tail {
  bool is_certain;
  bool is_straight;  // there are no bends
  size_t kept;
  float floor;  // that only these reach; 0: there is none, or it is not known
};

// `least` stay in any case, fewer than there are. `hidden`: the most that bends behind the
// sorted shares may add.
Tail find_tail(const SortedShares& sorted, double z, size_t least, double hidden) {
  constexpr size_t kBlock = 256;  // under one sum
  const size_t count = sorted.bend_count();
  double known = 0;
  for (size_t i = 0; i < count; i += kBlock) {
    known += sorted.sum_of_bends(i, std::min(i + kBlock, count));
  }
  double sum = 0;
  size_t kept = 0;
  for (; kept + kBlock < count; kept += kBlock) {
    const double next = sum + sorted.sum_of_bends(kept, kept + kBlock);
    if (!(next <= z * known)) break;
    sum = next;
  }
  double next = 0;
  for (; kept < count; ++kept) {
    next = sum + static_cast<double>(sorted.bend(kept));
    if (!(next <= z * known)) break;
    sum = next;
  }
  Tail tail = {hidden == 0 || (kept < count && next > z * (known + hidden)),
               known + hidden == 0, std::max(kept, least), 0};
  if (tail.kept < sorted.size() && sorted.share(tail.kept) < sorted.share(tail.kept - 1)) {
    tail.floor = sorted.share(tail.kept - 1);
  }
  return tail;
}

// Whether the likeliest `first` may tell where the tail begins: what is behind them bends by
// up to twice the share of the last, and all by no more than 2.
bool may_decide(Candidates& candidates, double z, size_t first) {
  const float reached = candidates.reached_by(first);
  if (!(reached > Candidates::kLowest)) return true;
  const double gap = static_cast<double>(candidates.max() - reached) *
                     static_cast<double>(candidates.inverse_temperature());
  return z * e_to(-gap) <= 1.01 * (1 - z);
}

// By the shares that are not far below 1 - z, if they are few.
Tail find_tail_above(Candidates& candidates, double z, size_t least) {
  constexpr double kDepth = 1.0 / 256;
  const size_t count = candidates.count();
  const auto floor = static_cast<float>(kDepth * (1 - z));
  const float* shares = candidates.shares();
  int32_t* indices = candidates.indices();
  size_t sampled = 0;
  const size_t stride = std::max(count / 512, size_t{1});
  for (size_t i = 0; i < count; i += stride) sampled += shares[i] >= floor ? 1 : 0;
  Tail tail = {};
  if (sampled * stride > count / 4) return tail;
  size_t collected = 0;
  for (size_t first = 0; first < count; first += Candidates::kChunk) {
    const size_t part = std::min(Candidates::kChunk, count - first);
    collected += candidates.kernels().split(shares + first, floor, Candidates::kNoCeiling,
                                            shares + first, kWeightBase,
                                            static_cast<int32_t>(first), part,
                                            indices + collected).collected;
  }
  if (collected < 3 || collected <= least || collected > count / 2) return tail;
  const SortedShares sorted(candidates, std::span<const int32_t>(indices, collected));
  return find_tail(sorted, z, least, 2 * static_cast<double>(sorted.share(collected - 2)));
}

}  // namespace

void tail_free(Candidates& candidates, float z, size_t min_keep) {
  constexpr size_t kFirst = 256;
  const size_t count = candidates.count();
  if (!(z < 1) || count <= 2 || is_empty(candidates) || min_keep >= count) return;
  if (candidates.total_weight() == uint64_t{count} << kWeightBits) return;  // all are equal
  Tail tail = {};
  const auto most = static_cast<double>(z);
  const size_t least = std::max(min_keep, size_t{1});
  if (count > 2 * kFirst && may_decide(candidates, most, kFirst)) {
    const SortedShares likely(candidates, sorted_prefix(candidates, kFirst));
    // They cannot bend more than twice as deep as they are high.
    tail = find_tail(likely, most, least, 2 * static_cast<double>(likely.share(kFirst - 2)));
  }
  if (!tail.is_certain && 1.01 * (1 - most) < most) {
    // What is behind shares that are a small part of 1 - z mostly does not matter.
    tail = find_tail_above(candidates, most, least);
  }
  if (!tail.is_certain) tail = find_tail(SortedShares(candidates), most, least, 0);
  if (tail.is_straight) return;
  if (tail.floor > 0) return candidates.keep_from_share(tail.floor);
  candidates.keep_up_to(key_of_rank(candidates, tail.kept));
}

void xtc(Candidates& candidates, float threshold, size_t min_keep) {
  if (is_empty(candidates)) return;
  const double least = static_cast<double>(threshold) * candidates.total();
  if (!(least <= 1)) return;
  const auto floor = static_cast<float>(least);
  const float* shares = candidates.shares();
  const float* logits = candidates.logits();
  uint64_t* keys = candidates.keys();
  const size_t likely = collect(
      candidates.count(), [=](size_t i) { return shares[i] >= floor; },
      [=](size_t i) { return sort_key(logits[i], i); }, keys);
  if (likely < 2 || candidates.count() - (likely - 1) < min_keep) return;
  std::swap(*std::max_element(keys, keys + likely), keys[likely - 1]);
  candidates.drop({keys, likely - 1});
}

}  // namespace sotto
