#include "runtime/sampling/truncation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/scalar_math.h"

namespace sotto {

namespace {

constexpr size_t kListed = 1024;  // so many tokens are told one by one, more by a border

// The key at which the sum of the weights, in sorted order, first reaches `target`; the
// tokens together do. Quickselect by weight: the half without the border is never sorted.
uint64_t find_weight_border(Candidates& candidates, std::span<uint64_t> keys, uint64_t target) {
  constexpr size_t kSorted = 64;
  while (keys.size() > kSorted) {
    const size_t middle = keys.size() / 2;
    std::nth_element(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(middle), keys.end());
    const uint64_t weight = candidates.weight(keys.first(middle));
    if (weight >= target) {
      keys = keys.first(middle);
    } else {
      target -= weight;
      keys = keys.subspan(middle);
    }
  }
  std::sort(keys.begin(), keys.end());
  const float* y = candidates.relative_probabilities(keys);
  size_t last = 0;
  for (uint64_t weight = weight_of(y[0]); weight < target; weight = weight_of(y[last])) {
    target -= weight;
    ++last;
    assert(last < keys.size());
  }
  return keys[last];
}

// Keeps the shortest sorted prefix of `keys`, a prefix itself, whose weight reaches `target`.
void keep_nucleus(Candidates& candidates, std::span<uint64_t> keys, uint64_t target) {
  const uint64_t last = find_weight_border(candidates, keys, target);
  const auto end = std::partition(keys.begin(), keys.end(),
                                  [last](uint64_t key) { return key <= last; });
  candidates.keep(keys.first(static_cast<size_t>(end - keys.begin())));
}

}  // namespace

void top_k(Candidates& candidates, size_t k) {
  if (k == 0 || k >= candidates.count()) return;
  const float floor = candidates.reached_by(k);
  std::span<uint64_t> keys;
  size_t rank = k;  // of the last token that stays, among the keys
  if (floor == Candidates::kLowest && candidates.count() > kListed &&
      candidates.max() > Candidates::kLowest) {
    const Candidates::Border border = candidates.find_border(Candidates::Measure::kCount, k);
    keys = border.keys;
    rank -= static_cast<size_t>(border.before);
  } else {
    keys = candidates.collect_keys(floor);
  }
  const auto last = keys.begin() + static_cast<ptrdiff_t>(rank - 1);
  std::nth_element(keys.begin(), last, keys.end());
  if (rank == k && k <= kListed) {
    candidates.keep(keys.first(k));
  } else {
    candidates.keep_up_to(*last);
  }
}

void top_p(Candidates& candidates, float p) {
  if (!(p < 1) || candidates.max() == Candidates::kLowest) return;
  const uint64_t total = candidates.total_weight();
  const double share = std::ceil(static_cast<double>(p) * static_cast<double>(total));
  const uint64_t target = std::clamp<uint64_t>(static_cast<uint64_t>(share), 1, total);
  if (candidates.count() <= kListed) {
    keep_nucleus(candidates, candidates.collect_keys(Candidates::kLowest), target);
    return;
  }
  // Mostly the nucleus is among the few likeliest.
  for (const size_t likely : {size_t{64}, size_t{256}}) {
    const float floor = candidates.reached_by(likely);
    if (floor == Candidates::kLowest) break;
    const std::span<uint64_t> keys = candidates.collect_keys(floor);
    if (keys.size() > kListed) break;
    if (candidates.weight(keys) >= target) {
      keep_nucleus(candidates, keys, target);
      return;
    }
  }
  const Candidates::Border border = candidates.find_border(Candidates::Measure::kWeight, target);
  candidates.keep_up_to(find_weight_border(candidates, border.keys, target - border.before));
}

void min_p(Candidates& candidates, float ratio) {
  if (!(ratio > 0) || candidates.max() == Candidates::kLowest) return;
  if (candidates.count() > Candidates::kBlock) {
    // Logits well below the border go before any probability is computed.
    const double max = candidates.max();
    const double margin = 1e-6 * std::fabs(max);
    const double floor = max - margin + (ln(ratio) - 1e-3) / candidates.inverse_temperature();
    if (std::fabs(floor) <= static_cast<double>(std::numeric_limits<float>::max())) {
      candidates.keep_from_logit(static_cast<float>(floor));
    }
  }
  candidates.keep_from_relative_probability(ratio);
}

}  // namespace sotto
