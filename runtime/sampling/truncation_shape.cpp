// The truncations that look at the shape of the distribution: top-h, typical, tail-free, XTC.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

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
  const auto surprise = [shares, gap = candidates.gaps(), log_total](size_t i) {
    const float product = shares[i] * (gap(i) + log_total);
    const auto sum = static_cast<double>(shares[i] > 0 ? product : 0.0f) + kBase;
    return std::bit_cast<uint64_t>(sum) - std::bit_cast<uint64_t>(kBase);
  };
  uint64_t total = 0;
  const size_t count = candidates.count();
  for (size_t i = 0; i < count; ++i) total += surprise(i);
  if (total == 0) return candidates.keep_up_to(key_of_rank(candidates, min_keep));
  const double most = std::floor(static_cast<double>(h) * static_cast<double>(total));
  const uint64_t target = std::min(static_cast<uint64_t>(most) + 1, total);
  // The border is the first token that is too much.
  const uint64_t border = find_likely_border(candidates, surprise, target);
  const uint64_t least = key_of_rank(candidates, min_keep);
  if (border <= least) return candidates.keep_up_to(least);
  candidates.keep_before(border);
}

void typical(Candidates& candidates, float mass, size_t min_keep) {
  if (!(mass < 1) || is_empty(candidates) || min_keep >= candidates.count()) return;
  const uint64_t total = candidates.total_weight();
  // |-ln p - H| = |gap - center|.
  const auto center = static_cast<float>(candidates.entropy() - ln(candidates.total()));
  const auto distance = [gap = candidates.gaps(), center](size_t i) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const float d = std::fabs(gap(i) - center);
    return d < kInfinity ? d : kInfinity;  // not NaN
  };
  const auto rank = [=](size_t i) { return std::bit_cast<uint32_t>(distance(i)); };
  const auto key = [=](size_t i) { return uint64_t{rank(i)} << 32 | i; };
  const float* shares = candidates.shares();
  const auto weight = [shares](size_t i) { return weight_of(shares[i]); };
  const double share = std::ceil(static_cast<double>(mass) * static_cast<double>(total));
  const uint64_t target = std::clamp<uint64_t>(static_cast<uint64_t>(share), 1, total);
  uint64_t border = find_border(candidates, rank, key, weight, target);
  if (min_keep > 1) {
    const auto one = [](size_t) { return uint64_t{1}; };
    border = std::max(border, find_border(candidates, rank, key, one, min_keep));
  }
  const float farthest = std::bit_cast<float>(static_cast<uint32_t>(border >> 32));
  float* nearness = candidates.chunk();
  candidates.keep_by(
      [&](size_t first, size_t count) {
        for (size_t i = 0; i < count; ++i) nearness[i] = -distance(first + i);
        return nearness;
      },
      -farthest, key_index(border) + 1);
}

namespace {

// The sorted p, made as far as they are asked for.
class SortedPrefix {
 public:
  explicit SortedPrefix(Candidates& candidates)
      : candidates_(candidates), shares_(candidates.shares()) {}

  // Sorts many times as many as before.
  void extend() {
    const size_t count = candidates_.count();
    size_ = size_ == 0 ? kFirst : kGrowth * size_;
    if (size_ > count / 2) size_ = count;
    keys_ = sorted_prefix(candidates_, size_);
    // Shares replace the order, so that they are read one after the other.
    for (uint64_t& key : keys_) {
      const size_t index = key_index(key);
      key = uint64_t{std::bit_cast<uint32_t>(shares_[index])} << 32 | index;
    }
  }
  size_t size() const { return size_; }
  bool is_whole() const { return size_ == candidates_.count(); }
  uint64_t key(size_t rank) const { return keys_[rank]; }
  double share(size_t rank) const {
    return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(keys_[rank] >> 32)));
  }
  // |(p - next p) - (next p - the p after)|
  double bend(size_t rank) const {
    return std::fabs((share(rank) - share(rank + 1)) - (share(rank + 1) - share(rank + 2)));
  }

 private:
  static constexpr size_t kFirst = 256;
  static constexpr size_t kGrowth = 16;

  Candidates& candidates_;
  const float* shares_;
  std::span<uint64_t> keys_;
  size_t size_ = 0;
};

}  // namespace

void tail_free(Candidates& candidates, float z, size_t min_keep) {
  const size_t count = candidates.count();
  if (!(z < 1) || count <= 2 || is_empty(candidates) || min_keep >= count) return;
  SortedPrefix sorted(candidates);
  do {
    sorted.extend();
    double known = 0;
    for (size_t i = 0; i + 2 < sorted.size(); ++i) known += sorted.bend(i);
    // What lies behind the prefix cannot bend more than twice as deep as it is high.
    const double hidden = sorted.is_whole() ? 0 : 2 * sorted.share(sorted.size() - 2);
    if (known + hidden == 0) return;
    size_t kept = 0;
    double sum = 0;
    while (kept + 2 < sorted.size() && sum + sorted.bend(kept) <= z * known) {
      sum += sorted.bend(kept++);
    }
    // The last one to stay must not depend on what is hidden.
    const bool ends = kept + 2 < sorted.size() && sum + sorted.bend(kept) > z * (known + hidden);
    if (!ends && !sorted.is_whole()) continue;
    return candidates.keep_up_to(sorted.key(std::max(std::max(kept, min_keep), size_t{1}) - 1));
  } while (true);
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
