// A second implementation of the chain: long double, full sorts, no shared code. If a token is so close to a border
// that rounding decides, the oracle accepts either result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sotto::oracle {

// The remaining tokens with their logits. NaN has become -infinity.
struct Set {
  std::vector<int32_t> ids;  // ascending
  std::vector<long double> logits;
};

Set begin(const std::vector<float>& logits, const std::vector<bool>& allowed);

// Penalizes each distinct token among the last `window` of `history` once.
Set penalize(Set set, const std::vector<int32_t>& history, size_t window, float penalty);

// Returns softmax(l / T). The result is uniform over the largest logits if they are infinite, and empty if all are
// -infinity.
std::vector<long double> probabilities(const Set& set, float temperature = 1);

// Returns indices into `set`, sorted by (descending logit, ascending id).
std::vector<size_t> sorted(const Set& set);

// Returns whether `kept` (ascending ids) may be the result of the truncation of `set`.
bool accepts_top_k(const Set& set, size_t k, const std::vector<int32_t>& kept);
bool accepts_top_p(const Set& set, float p, const std::vector<int32_t>& kept);
bool accepts_min_p(const Set& set, float ratio, const std::vector<int32_t>& kept);

// Returns whether `token` is at the place `uniform` of the cumulative distribution, in order of id.
bool accepts_draw(const Set& set, float temperature, long double uniform, int32_t token);

Set restrict_to(const Set& set, const std::vector<int32_t>& kept);

}  // namespace sotto::oracle
