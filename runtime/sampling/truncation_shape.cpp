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

}  // namespace

void top_h(Candidates& candidates, float h, size_t min_keep) {
  if (!(h < 1) || is_empty(candidates) || min_keep >= candidates.count()) return;
  // -p ln p = share (gap + ln total) / total, as an integer: a multiple of 2^-36.
  const float* shares = candidates.shares();
  const auto log_total = static_cast<float>(ln(candidates.total()));
  const auto value = [shares, gap = candidates.gaps(), log_total](size_t i) {
    return zero_unless(shares[i] > 0, shares[i] * (gap(i) + log_total));
  };
  const auto surprise = [value](size_t i) { return integer_of(value(i), kBase); };
  const uint64_t total = sum_of_all(candidates, value, kBase);
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

  float operator()(size_t i) const {
    constexpr float kFarthest = -std::numeric_limits<float>::infinity();
    const float near = -std::fabs(gap(i) - center);
    return near > kFarthest ? near : kFarthest;  // not NaN
  }
};

// `keys`: of some of the likeliest, or empty; who is not among them is less near than `away`.
template <typename Numbers>
void keep_near(Candidates& candidates, Numbers nearness, uint64_t target, size_t min_keep,
               std::span<uint64_t> keys, float away) {
  const auto key = [=](size_t i) {
    return uint64_t{std::bit_cast<uint32_t>(-number_at(nearness, i))} << 32 | i;
  };
  const auto distance = [](uint64_t k) {
    return std::bit_cast<float>(static_cast<uint32_t>(k >> 32));
  };
  const float* shares = candidates.shares();
  const auto weight = [shares](size_t i) { return weight_of(shares[i]); };
  for (uint64_t& k : keys) k = key(key_index(k));
  if (sum_of(keys, weight) < target) keys = {};
  uint64_t border = keys.empty() ? 0 : find_border_key(candidates, keys, weight, target);
  if (keys.empty() || !(distance(border) < away)) {
    border = find_border(candidates, nearness, shares, kWeightBase, key,
                         candidates.total_weight(), target);
  }
  if (min_keep > 1) {
    const auto one = [](size_t) { return 1.0f; };
    border = std::max(border, find_border(candidates, nearness, one, kWeightBase, key,
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
  const Nearness nearness = {candidates.gaps(), center};
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
  // Of the likeliest tokens.
  SortedShares(Candidates& candidates, std::span<const uint64_t> keys)
      : shares_(reinterpret_cast<uint32_t*>(candidates.bucket_sums())), size_(keys.size()) {
    const float* shares = candidates.shares();
    for (size_t i = 0; i < size_; ++i) {
      shares_[i] = std::bit_cast<uint32_t>(shares[key_index(keys[i])]);
    }
  }
  // Of all: by their digits, the lowest first, between the halves of the keys' place.
  explicit SortedShares(Candidates& candidates) : size_(candidates.count()) {
    constexpr int kDigitBits = 11;
    constexpr size_t kDigits = size_t{1} << kDigitBits;
    const float* shares = candidates.shares();
    auto* from = reinterpret_cast<uint32_t*>(candidates.keys());
    uint32_t* to = from + size_;
    for (size_t i = 0; i < size_; ++i) from[i] = ~std::bit_cast<uint32_t>(shares[i]);
    auto* places = reinterpret_cast<uint32_t*>(candidates.bucket_sums());
    static_assert(kDigits * sizeof *places <= Candidates::kBuckets * sizeof(uint64_t));
    for (int shift = 0; shift < 32; shift += kDigitBits) {
      std::fill_n(places, kDigits, 0);
      for (size_t i = 0; i < size_; ++i) ++places[from[i] >> shift & (kDigits - 1)];
      uint32_t next = 0;
      for (size_t digit = 0; digit < kDigits; ++digit) {
        next += std::exchange(places[digit], next);
      }
      for (size_t i = 0; i < size_; ++i) to[places[from[i] >> shift & (kDigits - 1)]++] = from[i];
      std::swap(from, to);
    }
    for (size_t i = 0; i < size_; ++i) from[i] = ~from[i];
    shares_ = from;
  }

  size_t size() const { return size_; }
  double share(size_t rank) const {
    return static_cast<double>(std::bit_cast<float>(shares_[rank]));
  }
  // |(p - next p) - (next p - the p after)|
  double bend(size_t rank) const {
    return std::fabs((share(rank) - share(rank + 1)) - (share(rank + 1) - share(rank + 2)));
  }

 private:
  uint32_t* shares_;
  size_t size_;
};

struct Tail {
  bool is_certain;
  bool is_straight;  // there are no bends
  size_t kept;
};

// `hidden`: the most that bends behind the sorted shares may add.
Tail find_tail(const SortedShares& sorted, double z, double hidden) {
  double known = 0;
  for (size_t i = 0; i + 2 < sorted.size(); ++i) known += sorted.bend(i);
  Tail tail = {hidden == 0, known + hidden == 0, 0};
  double sum = 0;
  while (tail.kept + 2 < sorted.size() && sum + sorted.bend(tail.kept) <= z * known) {
    sum += sorted.bend(tail.kept++);
  }
  const bool ends = tail.kept + 2 < sorted.size();
  tail.is_certain |= ends && sum + sorted.bend(tail.kept) > z * (known + hidden);
  return tail;
}

}  // namespace

void tail_free(Candidates& candidates, float z, size_t min_keep) {
  constexpr size_t kFirst = 256;
  const size_t count = candidates.count();
  if (!(z < 1) || count <= 2 || is_empty(candidates) || min_keep >= count) return;
  Tail tail = {};
  const auto most = static_cast<double>(z);
  if (count > 2 * kFirst) {
    candidates.shares();
    const SortedShares likely(candidates, sorted_prefix(candidates, kFirst));
    // They cannot bend more than twice as deep as they are high.
    tail = find_tail(likely, most, 2 * likely.share(kFirst - 2));
  }
  if (!tail.is_certain) tail = find_tail(SortedShares(candidates), most, 0);
  if (tail.is_straight) return;
  candidates.keep_up_to(key_of_rank(candidates, std::max({tail.kept, min_keep, size_t{1}})));
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
