#include "runtime/sampling/stages/truncation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/scalar_math.h"
#include "runtime/sampling/stages/truncation_border.h"

namespace sotto {

namespace {

// Keeps the sorted tokens up to a border, but at least so many.
void keep_likely(Candidates& candidates, uint64_t border, size_t min_keep) {
  if (min_keep > 1) {
    const size_t least = std::min(min_keep, candidates.count());
    border = std::max(border, key_of_rank(candidates, least));
  }
  candidates.keep_up_to(border);
}

// Keeps those whose share is at least `least`, and at least `min_keep`.
void keep_shares(Candidates& candidates, double least, size_t min_keep) {
  // The most likely of all stays even if it is not likely enough.
  const float floor = least < 1 ? static_cast<float>(least) : 1.0f;
  if (min_keep >= candidates.count()) return;
  if (min_keep > 1 || least > 1) {
    const uint64_t key = key_of_rank(candidates, min_keep);
    if (least > 1 || !(candidates.shares()[key_index(key)] >= floor)) {
      return candidates.keep_up_to(key);
    }
  }
  candidates.keep_from_share(floor);
}

bool is_empty(Candidates& candidates) { return candidates.max() == Candidates::kLowest; }

}  // namespace

void top_k(Candidates& candidates, size_t k, size_t min_keep) {
  if (k == 0) return;
  k = std::max(k, min_keep);
  if (k < candidates.count()) candidates.keep_up_to(key_of_rank(candidates, k));
}

void top_p(Candidates& candidates, float p, size_t min_keep) {
  if (!(p < 1) || is_empty(candidates)) return;
  const uint64_t total = candidates.total_weight();
  const double share = std::ceil(static_cast<double>(p) * static_cast<double>(total));
  const uint64_t target = std::clamp<uint64_t>(static_cast<uint64_t>(share), 1, total);
  const float* shares = candidates.shares();
  const auto weight = [shares](size_t i) { return weight_of(shares[i]); };
  std::span<uint64_t> keys = likely_keys(candidates);
  if (sum_of(keys, weight) < target) keys = {};
  keep_likely(candidates,
              keys.empty() ? find_likely_border(candidates, shares, kWeightBase, total, target)
                           : find_border_key(candidates, keys, weight, target),
              min_keep);
}

float decayed_top_p(float p, float decay, float least, uint32_t step) {
  double power = 1;
  for (double square = static_cast<double>(decay); step > 0; step /= 2, square *= square) {
    if (step % 2 == 1) power *= square;
  }
  return std::max(least, static_cast<float>(static_cast<double>(p) * power));
}

void min_p(Candidates& candidates, float ratio, size_t min_keep) {
  if (!(ratio > 0) || is_empty(candidates)) return;
  if (candidates.count() > Candidates::kChunk && min_keep <= 1) {
    // Logits well below the border go before any probability is computed.
    const double max = static_cast<double>(candidates.max());
    const double margin = 1e-6 * std::fabs(max);
    const double floor =
        max - margin + (ln(static_cast<double>(ratio)) - 1e-3) / static_cast<double>(candidates.inverse_temperature());
    if (std::fabs(floor) <= static_cast<double>(std::numeric_limits<float>::max())) {
      candidates.keep_from_logit(static_cast<float>(floor));
    }
  }
  keep_shares(candidates, static_cast<double>(ratio), min_keep);
}

void top_a(Candidates& candidates, float a, size_t min_keep) {
  if (!(a > 0) || is_empty(candidates)) return;
  keep_shares(candidates, static_cast<double>(a) / candidates.total(), min_keep);
}

void keep_probable(Candidates& candidates, double least, size_t min_keep) {
  if (is_empty(candidates)) return;
  keep_shares(candidates, least * candidates.total(), min_keep);
}

void epsilon_cutoff(Candidates& candidates, float epsilon, size_t min_keep) {
  if (epsilon > 0) keep_probable(candidates, static_cast<double>(epsilon), min_keep);
}

void eta_cutoff(Candidates& candidates, float eta, size_t min_keep) {
  if (!(eta > 0) || is_empty(candidates)) return;
  const double e = static_cast<double>(eta);
  keep_probable(candidates, std::min(e, std::sqrt(e) * e_to(-candidates.entropy())), min_keep);
}

void top_n_sigma(Candidates& candidates, float n, size_t min_keep) {
  if (!(n > 0) || is_empty(candidates) || min_keep >= candidates.count()) return;
  const float* logits = candidates.logits();
  const size_t count = candidates.count();
  const FiniteSum finite = candidates.kernels().sum_finite(logits, count, 0, false);
  double sigma = 0;  // of no finite logit
  if (finite.count > 0) {
    const auto n_finite = static_cast<double>(finite.count);
    const double mean = finite.sum / n_finite;
    const FiniteSum spread = candidates.kernels().sum_finite(logits, count, mean, true);
    sigma = std::sqrt(spread.sum / n_finite);
  }
  // T scales both sides alike.
  const double floor = static_cast<double>(candidates.max()) - static_cast<double>(n) * sigma;
  const auto least = static_cast<float>(std::max(floor, -static_cast<double>(std::numeric_limits<float>::max())));
  if (min_keep > 1) {
    const uint64_t key = key_of_rank(candidates, min_keep);
    if (!(candidates.logit(key_index(key)) >= least)) return candidates.keep_up_to(key);
  }
  candidates.keep_from_logit(least);
}

}  // namespace sotto
