// Tail-free truncation: it needs all shares in order, or as many as may matter.
#include <algorithm>
#include <cmath>

#include "runtime/base/scalar_math.h"
#include "runtime/sampling/stages/sorted_shares.h"
#include "runtime/sampling/stages/truncation.h"
#include "runtime/sampling/stages/truncation_border.h"

namespace sotto {

namespace {

struct Tail {
  bool is_certain;
  bool is_straight;  // there are no bends
  size_t kept;
  float floor;  // that only these reach; 0: there is none, or it is not known
};

// Of numbers so near each other, differences are mostly exact.
double bend(const float* p) { return static_cast<double>(std::fabs((p[0] - p[1]) - (p[1] - p[2]))); }

// `least` stay in any case, fewer than there are. `are_all`: there are no other shares.
template <typename Sorted>
Tail find_tail(Sorted&& sorted, double z, size_t least, bool are_all) {
  const size_t count = sorted.size() - 2;
  double known = 0;
  const size_t blocks = sorted.block_count();
  for (size_t block = 0; block < blocks; ++block) known += sorted.sum_of_bends(block);
  double sum = 0;
  size_t kept = 0;
  for (size_t block = 0; block + 1 < blocks; kept += sorted.block_size(block++)) {
    const double next = sum + sorted.sum_of_bends(block);
    if (!(next <= z * known)) break;
    sum = next;
  }
  // What is behind the last cannot bend more than twice as deep as they are high.
  const double hidden = are_all ? 0 : 2 * static_cast<double>(*sorted.from(sorted.size() - 2));
  const float* shares = nullptr;  // from `first`
  size_t first = 0;
  double next = 0;
  bool ends = false;
  do {
    first = kept > 0 ? kept - 1 : 0;
    shares = sorted.from(first);
    const size_t end = std::min(kept + kBendBlock, count);
    for (; kept < end; ++kept) {
      next = sum + bend(shares + (kept - first));
      ends = !(next <= z * known);
      if (ends) break;
      sum = next;
    }
  } while (!ends && kept < count);
  Tail tail = {hidden == 0 || (kept < count && next > z * (known + hidden)), known + hidden == 0, std::max(kept, least),
               0};
  if (tail.kept == kept && kept > 0) {
    const float* last = shares + (kept - 1 - first);
    if (last[1] < last[0]) tail.floor = last[0];
  }
  return tail;
}

Tail find_tail_of(Candidates& candidates, std::span<const float> shares, std::span<uint64_t> room, double z,
                  size_t least, bool are_all) {
  SliceSort slices(candidates, shares, room);
  if (slices.sort()) return find_tail(slices, z, least, are_all);
  return find_tail(DigitSort(candidates, shares), z, least, are_all);
}

// About how many tokens have a share of at least `floor`.
[[gnu::noinline]] size_t estimate_reaching(Candidates& candidates, double floor) {
  const float* shares = candidates.shares_alone();
  const auto least = static_cast<float>(std::min(floor, 2.0));
  const size_t count = candidates.count(), stride = std::max(count / 512, size_t{1});
  size_t sampled = 0;
  for (size_t i = 0; i < count; i += stride) sampled += shares[i] >= least ? 1 : 0;
  return sampled * stride;
}

// Whether the likeliest `first` may tell where the tail begins: what is behind them bends by
// up to twice the share of the last, and all by no more than 2.
bool may_decide(Candidates& candidates, double z, size_t first) {
  if (estimate_reaching(candidates, 1.01 * (1 - z) / z) > 8 * first) return false;
  const float reached = candidates.reached_by(first);
  if (!(reached > Candidates::kLowest)) return true;
  const double gap =
      static_cast<double>(candidates.max() - reached) * static_cast<double>(candidates.inverse_temperature());
  return z * e_to(-gap) <= 1.01 * (1 - z);
}

Tail find_tail_in_likely(Candidates& candidates, double z, size_t least, size_t likely) {
  const std::span<uint64_t> keys = sorted_prefix(candidates, likely);
  const float* shares = candidates.shares_alone();
  float* sorted = candidates.chunk();
  for (size_t i = 0; i < likely; ++i) sorted[i] = shares[key_index(keys[i])];
  return find_tail(DigitSort(candidates.kernels(), {sorted, likely}), z, least, false);
}

// By the shares that are not far below 1 - z, if they are few.
Tail find_tail_above(Candidates& candidates, double z, size_t least) {
  constexpr double kDepth = 1.0 / 256;
  const size_t count = candidates.count();
  const auto floor = static_cast<float>(kDepth * (1 - z));
  const float* shares = candidates.shares_alone();
  int32_t* indices = candidates.indices();
  Tail tail = {};
  if (estimate_reaching(candidates, floor) > count / 4) return tail;
  size_t collected = 0;
  for (size_t first = 0; first < count; first += Candidates::kChunk) {
    const size_t part = std::min(Candidates::kChunk, count - first);
    collected += candidates.kernels()
                     .split(shares + first, floor, Candidates::kNoCeiling, shares + first, kWeightBase,
                            static_cast<int32_t>(first), part, indices + collected)
                     .collected;
  }
  if (collected < 3 || collected <= least || collected > count / 2) return tail;
  // In the lower half of the keys' place; the indices are in the upper.
  float* above = candidates.whole();
  for (size_t i = 0; i < collected; ++i) above[i] = shares[indices[i]];
  const std::span<uint64_t> room = candidates.scratch().subspan((collected + 1) / 2);
  return find_tail_of(candidates, {above, collected}, room, z, least, false);
}

}  // namespace

void tail_free(Candidates& candidates, float z, size_t min_keep) {
  constexpr size_t kFirst = 256;
  const size_t count = candidates.count();
  if (!(z < 1) || count <= 2 || min_keep >= count) return;
  const auto most = static_cast<double>(z);
  const size_t least = std::max(min_keep, size_t{1});
  if (candidates.max() == Candidates::kLowest) return;
  if (estimate_reaching(candidates, 1) >= count && candidates.total_weight() == uint64_t{count} << kWeightBits) {
    return;  // all are equal
  }
  Tail tail = {};
  if (count > 2 * kFirst && may_decide(candidates, most, kFirst)) {
    tail = find_tail_in_likely(candidates, most, least, kFirst);
  }
  if (!tail.is_certain && 1.01 * (1 - most) < most) {
    // What is behind shares that are a small part of 1 - z mostly does not matter.
    tail = find_tail_above(candidates, most, least);
  }
  if (!tail.is_certain) {
    tail = find_tail_of(candidates, {candidates.shares_alone(), count}, candidates.scratch(), most, least, true);
  }
  if (tail.is_straight) return;
  if (tail.floor > 0) return candidates.keep_from_share(tail.floor);
  candidates.keep_up_to(key_of_rank(candidates, tail.kept));
}

}  // namespace sotto
