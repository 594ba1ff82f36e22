#include "tests/unit/sampling/oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace sotto::oracle {

namespace {

constexpr long double kSlack = 2e-6L;  // error of float exponentials

bool nothing_finite(const Set& set) { return probabilities(set).empty(); }

// Returns the first n tokens of the sorted order, as ascending ids.
std::vector<int32_t> prefix(const Set& set, size_t n) {
  std::vector<int32_t> ids;
  const std::vector<size_t> order = sorted(set);
  for (size_t i = 0; i < n; ++i) ids.push_back(set.ids[order[i]]);
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

Set begin(const std::vector<float>& logits, const std::vector<bool>& allowed) {
  Set set;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!allowed.empty() && !allowed[i]) continue;
    set.ids.push_back(static_cast<int32_t>(i));
    set.logits.push_back(std::isnan(logits[i]) ? -INFINITY : logits[i]);
  }
  return set;
}

Set penalize(Set set, const std::vector<int32_t>& history, size_t window, float penalty) {
  const size_t skipped = history.size() - std::min(window, history.size());
  const std::set<int32_t> tokens(history.begin() + static_cast<ptrdiff_t>(skipped), history.end());
  for (size_t i = 0; i < set.ids.size(); ++i) {
    if (tokens.count(set.ids[i]) == 0) continue;
    const auto l = static_cast<float>(set.logits[i]);
    set.logits[i] = l > 0 ? l / penalty : l * penalty;  // the result is a float
  }
  return set;
}

std::vector<long double> probabilities(const Set& set, float temperature) {
  const long double max = *std::max_element(set.logits.begin(), set.logits.end());
  if (max == -INFINITY) return {};
  std::vector<long double> p;
  for (const long double l : set.logits) {
    p.push_back(l == max ? 1.0L : std::exp((l - max) / temperature));
  }
  const long double sum = std::accumulate(p.begin(), p.end(), 0.0L);
  for (long double& x : p) x /= sum;
  return p;
}

std::vector<size_t> sorted(const Set& set) {
  std::vector<size_t> order(set.ids.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return set.logits[a] > set.logits[b]; });
  return order;
}

bool accepts_top_k(const Set& set, size_t k, const std::vector<int32_t>& kept) {
  return kept == prefix(set, k == 0 ? set.ids.size() : std::min(k, set.ids.size()));
}

bool accepts_top_p(const Set& set, float p, const std::vector<int32_t>& kept) {
  if (kept.empty()) return false;
  if (p >= 1 || nothing_finite(set)) return kept == set.ids;
  if (kept != prefix(set, kept.size())) return false;
  const std::vector<long double> all = probabilities(set);
  const std::vector<size_t> order = sorted(set);
  long double sum = 0, before_last = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    before_last = sum;
    sum += all[order[i]];
  }
  return sum >= p - kSlack && (kept.size() == 1 || before_last < p + kSlack);
}

bool accepts_min_p(const Set& set, float ratio, const std::vector<int32_t>& kept) {
  if (kept.empty()) return false;
  if (ratio <= 0 || nothing_finite(set)) return kept == set.ids;
  const std::vector<long double> p = probabilities(set);
  const long double largest = *std::max_element(p.begin(), p.end());
  for (size_t i = 0; i < set.ids.size(); ++i) {
    const bool in = std::binary_search(kept.begin(), kept.end(), set.ids[i]);
    if (in && p[i] < ratio * largest * (1 - kSlack)) return false;
    if (!in && p[i] > ratio * largest * (1 + kSlack)) return false;
    if (!in && p[i] == largest) return false;
  }
  return true;
}

bool accepts_draw(const Set& set, float temperature, long double uniform, int32_t token) {
  const std::vector<long double> p = probabilities(set, temperature);
  if (p.empty()) return token == set.ids[0];
  long double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const long double before = sum;
    sum += p[i];
    if (set.ids[i] != token) continue;
    return p[i] > 0 && uniform >= before - kSlack && uniform <= sum + kSlack;
  }
  return false;
}

Set restrict_to(const Set& set, const std::vector<int32_t>& kept) {
  Set result;
  for (size_t i = 0; i < set.ids.size(); ++i) {
    if (!std::binary_search(kept.begin(), kept.end(), set.ids[i])) continue;
    result.ids.push_back(set.ids[i]);
    result.logits.push_back(set.logits[i]);
  }
  return result;
}

}  // namespace sotto::oracle
