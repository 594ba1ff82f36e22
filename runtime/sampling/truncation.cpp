#include "runtime/sampling/truncation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/scalar_math.h"

namespace sotto {

namespace {

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

}  // namespace

void top_k(Candidates& candidates, size_t k) {
  if (k == 0 || k >= candidates.count()) return;
  const std::span<uint64_t> keys = candidates.collect_keys(candidates.reached_by(k));
  const auto last = keys.begin() + static_cast<ptrdiff_t>(k - 1);
  std::nth_element(keys.begin(), last, keys.end());
  candidates.keep_up_to(*last);
}

void top_p(Candidates& candidates, float p) {
  constexpr size_t kLikely = 64;  // the nucleus is mostly among so many, or a few more
  if (!(p < 1) || candidates.max() == Candidates::kLowest) return;
  const float floor = candidates.reached_by(kLikely);
  const uint64_t total = candidates.total_weight();
  const double share = std::ceil(static_cast<double>(p) * static_cast<double>(total));
  const uint64_t target = std::clamp<uint64_t>(static_cast<uint64_t>(share), 1, total);
  std::span<uint64_t> keys = candidates.collect_keys(floor);
  if (keys.size() < candidates.count() && candidates.weight(keys) < target) {
    keys = candidates.collect_keys(Candidates::kLowest);
  }
  candidates.keep_up_to(find_weight_border(candidates, keys, target));
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
