// The chain written down a second time: long double, full sorts, no shared code. Where a
// border lies within rounding of a token the oracle allows either verdict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sotto::oracle {

// Tokens in play with their logits; NaN is already -infinity.
struct Set {
  std::vector<int32_t> ids;  // ascending
  std::vector<long double> logits;
};

Set begin(const std::vector<float>& logits, const std::vector<bool>& allowed);

// Once for each distinct token among the last `window` of `history`.
Set penalize(Set set, const std::vector<int32_t>& history, size_t window, float penalty);

// softmax(l / T); uniform over the largest if they are infinite; empty if all are -infinity.
std::vector<long double> probabilities(const Set& set, float temperature = 1);

// Places in `set`, sorted by (descending logit, ascending id).
std::vector<size_t> sorted(const Set& set);

// Is `kept` (ascending ids) what the truncation may leave of `set`?
bool accepts_top_k(const Set& set, size_t k, const std::vector<int32_t>& kept);
bool accepts_top_p(const Set& set, float p, const std::vector<int32_t>& kept);
bool accepts_min_p(const Set& set, float ratio, const std::vector<int32_t>& kept);

// Is `token` at the place `uniform` of the cumulative distribution, in order of id?
bool accepts_draw(const Set& set, float temperature, long double uniform, int32_t token);

Set restrict_to(const Set& set, const std::vector<int32_t>& kept);

}  // namespace sotto::oracle
