// The truncations that look at the shape of the distribution: top-h, typical, XTC.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/base/scalar_math.h"
#include "runtime/sampling/stages/truncation.h"
#include "runtime/sampling/stages/truncation_border.h"

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

  float operator()(size_t i) const { return zero_unless(shares[i] > 0, shares[i] * (gap(i) + log_total)); }
  uint64_t write(size_t first, size_t count, float* room) const {
    return kernels->surprises(gap.logits + first, shares + first, count, gap.max, gap.inverse_temperature, log_total,
                              kBase, room);
  }
};

}  // namespace

void top_h(Candidates& candidates, float h, size_t min_keep) {
  if (!(h < 1) || is_empty(candidates) || min_keep >= candidates.count()) return;
  // As integers, multiples of 2^-36.
  const float* shares = candidates.shares();
  const Surprise value = {shares, candidates.gaps(), static_cast<float>(ln(candidates.total())), &candidates.kernels()};
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
  const uint64_t border = keys.empty() ? find_likely_border(candidates, value, kBase, total, target)
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
  uint64_t key(size_t i) const { return uint64_t{std::bit_cast<uint32_t>(-number_at(numbers, i))} << 32 | i; }
};

// `keys`: of some of the likeliest, or empty; who is not among them is less near than `away`.
// `likeliest`: the nearness of the largest logit.
template <typename Numbers>
void keep_near(Candidates& candidates, Numbers nearness, uint64_t target, size_t min_keep, std::span<uint64_t> keys,
               float away, float likeliest) {
  const NearOrder<Numbers> order = {nearness};
  const auto distance = [](uint64_t k) { return std::bit_cast<float>(static_cast<uint32_t>(k >> 32)); };
  const float* shares = candidates.shares();
  const auto weight = [shares](size_t i) { return weight_of(shares[i]); };
  for (uint64_t& k : keys) k = order.key(key_index(k));
  if (sum_of(keys, weight) < target) keys = {};
  uint64_t border = keys.empty() ? 0 : find_border_key(candidates, keys, weight, target);
  if (keys.empty() || !(distance(border) < away)) {
    border = find_border(candidates, nearness, shares, kWeightBase, order, candidates.total_weight(), target);
  }
  if (min_keep > 1) {
    const auto one = [](size_t) { return 1.0f; };
    border = std::max(border, find_border(candidates, nearness, one, kWeightBase, order,
                                          weight_of(1) * candidates.count(), weight_of(1) * min_keep));
  }
  if constexpr (std::is_pointer_v<Numbers>) {
    const size_t end = key_index(border) + 1;
    if (candidates.leave_to_draw(nearness, -distance(border), end, likeliest)) return;
  }
  candidates.keep_by(
      [&](size_t first, size_t count) { return numbers_from(nearness, first, count, candidates.chunk()); },
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
  const float likeliest = -std::fabs(center);
  const std::span<uint64_t> keys = likely_keys(candidates);
  float* room = candidates.unused_own();
  if (!keys.empty() || room == nullptr) {
    const uint64_t last = keys.empty() ? 0 : *std::max_element(keys.begin(), keys.end());
    const float away = nearness.gap(key_index(last)) - center;
    return keep_near(candidates, nearness, target, min_keep, keys, away, likeliest);
  }
  // Twice to be read: once to find the border, once to keep.
  const float* known = numbers_from(nearness, 0, candidates.count(), room);
  keep_near(candidates, known, target, min_keep, keys, 0, likeliest);
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
