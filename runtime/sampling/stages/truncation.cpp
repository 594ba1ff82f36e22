#include "runtime/sampling/stages/truncation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/base/scalar_math.h"

namespace sotto {

namespace {

bool is_empty(Candidates& candidates) { return candidates.max() == kMinusInfinity; }

// Keeps the prefix of the sorted order that ends at `border`, but at least `min_keep` tokens.
void keep_prefix(Candidates& candidates, uint64_t border, size_t min_keep) {
  if (min_keep > 1) border = std::max(border, candidates.ranking().key_of_rank(std::min(min_keep, candidates.count())));
  candidates.keep_up_to(border);
}

// Keeps the tokens whose weight is at least `min_weight`, and at least `min_keep` tokens. The most likely token always
// stays.
void keep_weights(Candidates& candidates, double min_weight, size_t min_keep) {
  const float floor = min_weight < 1 ? static_cast<float>(min_weight) : 1.0f;
  if (min_keep >= candidates.count()) return;
  if (min_keep > 1 || min_weight > 1) {
    const uint64_t key = candidates.ranking().key_of_rank(min_keep);
    if (min_weight > 1 || !(candidates.weights()[key_index(key)] >= floor)) return candidates.keep_up_to(key);
  }
  candidates.keep_from_weight(floor);
}

// Returns, in fixed point, the total weight that a set must have to reach this fraction of the probability.
uint64_t fixed_mass(Candidates& candidates, float mass) {
  const uint64_t total = candidates.total_fixed();
  const double wanted = std::ceil(static_cast<double>(mass) * static_cast<double>(total));
  return std::clamp<uint64_t>(static_cast<uint64_t>(wanted), 1, total);
}

// Returns the population standard deviation of the finite logits, or 0 if there are none.
double standard_deviation(const float* logits, size_t count) {
  FoldedSum sum, squares;
  size_t finite_count = 0;
  for (size_t i = 0; i < count; ++i) {
    const bool is_finite = std::fabs(logits[i]) <= std::numeric_limits<float>::max();
    sum.add(i, static_cast<double>(zero_unless(is_finite, logits[i])));
    finite_count += is_finite ? 1 : 0;
  }
  if (finite_count == 0) return 0;
  const auto n = static_cast<double>(finite_count);
  const double mean = sum.fold() / n;
  for (size_t i = 0; i < count; ++i) {
    if (!(std::fabs(logits[i]) <= std::numeric_limits<float>::max())) continue;
    const double d = static_cast<double>(logits[i]) - mean;
    squares.add(i, d * d);
  }
  return std::sqrt(squares.fold() / n);
}

// Sorts the weights in descending order, in the scratch memory of the candidates. This is a radix sort on their
// distance from 1, ten bits at a time, least significant digit first.
std::span<const float> sort_weights(Candidates& candidates) {
  constexpr uint32_t kOne = std::bit_cast<uint32_t>(1.0f);  // a number of 30 bits
  const std::span<uint64_t> scratch = candidates.ranking().scratch();
  const size_t count = scratch.size();
  auto* from = reinterpret_cast<uint32_t*>(scratch.data());
  uint32_t* to = from + count;
  uint64_t* places = candidates.ranking().bucket_sums();
  const float* weights = candidates.weights();
  for (size_t i = 0; i < count; ++i) from[i] = kOne - std::bit_cast<uint32_t>(weights[i]);
  for (int shift = 0; shift < 30; shift += kBucketBits) {
    const auto digit = [shift](uint32_t number) { return number >> shift & (kBucketCount - 1); };
    std::fill_n(places, kBucketCount, 0);
    for (size_t i = 0; i < count; ++i) ++places[digit(from[i])];
    uint64_t next = 0;
    for (size_t d = 0; d < kBucketCount; ++d) next += std::exchange(places[d], next);
    for (size_t i = 0; i < count; ++i) to[places[digit(from[i])]++] = from[i];
    std::swap(from, to);
  }
  for (size_t i = 0; i < count; ++i) from[i] = kOne - from[i];
  return {reinterpret_cast<const float*>(from), count};
}

// Returns the absolute second difference of three consecutive weights.
double bend(const float* p) { return static_cast<double>(std::fabs((p[0] - p[1]) - (p[1] - p[2]))); }

}  // namespace

void top_k(Candidates& candidates, size_t k, size_t min_keep) {
  if (k == 0) return;
  k = std::max(k, min_keep);
  if (k < candidates.count()) candidates.keep_up_to(candidates.ranking().key_of_rank(k));
}

void top_p(Candidates& candidates, float p, size_t min_keep) {
  if (!(p < 1) || is_empty(candidates)) return;
  const uint64_t total = candidates.total_fixed();
  const uint64_t border = candidates.ranking().find_prefix(candidates.weights(), total, fixed_mass(candidates, p));
  keep_prefix(candidates, border, min_keep);
}

float decayed_top_p(float p, float decay, float min_p, uint32_t step) {
  double power = 1;
  for (double square = static_cast<double>(decay); step > 0; step /= 2, square *= square) {
    if (step % 2 == 1) power *= square;
  }
  return std::max(min_p, static_cast<float>(static_cast<double>(p) * power));
}

void min_p(Candidates& candidates, float ratio, size_t min_keep) {
  constexpr size_t kSmallSet = 1024;
  if (!(ratio > 0) || is_empty(candidates)) return;
  if (candidates.count() > kSmallSet && min_keep <= 1) {
    // Logits well below the border are dropped before any weight is computed.
    const double max = static_cast<double>(candidates.max());
    const double margin = 1e-6 * std::fabs(max);
    const double floor =
        max - margin + (ln(static_cast<double>(ratio)) - 1e-3) / static_cast<double>(candidates.inverse_temperature());
    if (std::fabs(floor) <= static_cast<double>(std::numeric_limits<float>::max())) {
      candidates.keep_from_logit(static_cast<float>(floor));
    }
  }
  keep_weights(candidates, static_cast<double>(ratio), min_keep);
}

void top_a(Candidates& candidates, float a, size_t min_keep) {
  if (!(a > 0) || is_empty(candidates)) return;
  keep_weights(candidates, static_cast<double>(a) / candidates.total(), min_keep);
}

void keep_probable(Candidates& candidates, double min_p, size_t min_keep) {
  if (is_empty(candidates)) return;
  keep_weights(candidates, min_p * candidates.total(), min_keep);
}

void epsilon_cutoff(Candidates& candidates, float epsilon, size_t min_keep) {
  if (epsilon > 0) keep_probable(candidates, static_cast<double>(epsilon), min_keep);
}

void eta_cutoff(Candidates& candidates, float eta, size_t min_keep) {
  if (!(eta > 0) || is_empty(candidates)) return;
  const double e = static_cast<double>(eta);
  keep_probable(candidates, std::min(e, std::sqrt(e) * e_to(-entropy(candidates))), min_keep);
}

void top_n_sigma(Candidates& candidates, float n, size_t min_keep) {
  if (!(n > 0) || is_empty(candidates) || min_keep >= candidates.count()) return;
  // A temperature scales both sides of the comparison by the same factor.
  const double sigma = standard_deviation(candidates.logits(), candidates.count());
  const double floor = static_cast<double>(candidates.max()) - static_cast<double>(n) * sigma;
  const auto min_logit = static_cast<float>(std::max(floor, -static_cast<double>(std::numeric_limits<float>::max())));
  if (min_keep > 1) {
    const uint64_t key = candidates.ranking().key_of_rank(min_keep);
    if (!(candidates.logit(key_index(key)) >= min_logit)) return candidates.keep_up_to(key);
  }
  candidates.keep_from_logit(min_logit);
}

void top_h(Candidates& candidates, float h, size_t min_keep) {
  if (!(h < 1) || is_empty(candidates) || min_keep >= candidates.count()) return;
  const float* weights = candidates.weights();
  const auto log_total = static_cast<float>(ln(candidates.total()));
  // Computes -p ln p = weight (gap + ln total) / total, without the division, as an integer number of 2^-36, which is
  // the last bit of a double in [2^16, 2^17).
  const auto surprise = [&](size_t i) {
    constexpr double kBase = 0x1p16;
    const float s = zero_unless(weights[i] > 0, weights[i] * (candidates.gap(i) + log_total));
    return std::bit_cast<uint64_t>(static_cast<double>(s) + kBase) - std::bit_cast<uint64_t>(kBase);
  };
  const std::span<uint64_t> keys = candidates.ranking().scratch();
  uint64_t total = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    keys[i] = sort_key(candidates.logit(i), i);
    total += surprise(i);
  }
  uint64_t border = 0;  // the first token beyond the limit
  if (total > 0) {
    const double limit = std::floor(static_cast<double>(h) * static_cast<double>(total));
    const uint64_t target = std::min(static_cast<uint64_t>(limit) + 1, total);
    border = select_by_sum(keys, surprise, target, candidates.ranking().bucket_sums());
  }
  const uint64_t min_border = candidates.ranking().key_of_rank(min_keep);
  if (border <= min_border) return candidates.keep_up_to(min_border);
  candidates.keep_if([&](size_t i) { return sort_key(candidates.logit(i), i) < border; });
}

void typical(Candidates& candidates, float mass, size_t min_keep) {
  if (!(mass < 1) || is_empty(candidates) || min_keep >= candidates.count()) return;
  const float* weights = candidates.weights();
  const auto center = static_cast<float>(entropy(candidates) - ln(candidates.total()));
  // The tokens are ordered by |-ln p - H| = |gap - center|, with NaN last.
  const auto key_of = [&](size_t i) {
    constexpr float kFarthest = std::numeric_limits<float>::infinity();
    const float distance = std::fabs(candidates.gap(i) - center);
    return uint64_t{std::bit_cast<uint32_t>(distance < kFarthest ? distance : kFarthest)} << 32 | i;
  };
  const std::span<uint64_t> keys = candidates.ranking().scratch();
  const auto select = [&](auto measure, uint64_t target) {
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = key_of(i);
    return select_by_sum(keys, measure, target, candidates.ranking().bucket_sums());
  };
  uint64_t border = select([=](size_t i) { return to_fixed(weights[i]); }, fixed_mass(candidates, mass));
  if (min_keep > 1) border = std::max(border, select([](size_t) { return uint64_t{1}; }, min_keep));
  candidates.keep_if([&](size_t i) { return key_of(i) <= border; });
}

void tail_free(Candidates& candidates, float z, size_t min_keep) {
  constexpr size_t kBlock = 256;  // number of second differences per partial sum
  if (!(z < 1) || candidates.count() <= 2 || min_keep >= candidates.count() || is_empty(candidates)) return;
  const std::span<const float> sorted = sort_weights(candidates);
  const size_t bend_count = sorted.size() - 2;
  const auto sum_block = [&](size_t first) {
    FoldedSum sum;
    for (size_t i = 0; i < std::min(kBlock, bend_count - first); ++i) sum.add(i, bend(&sorted[first + i]));
    return sum.fold();
  };
  double total = 0;
  for (size_t first = 0; first < bend_count; first += kBlock) total += sum_block(first);
  if (total == 0) return;
  const double limit = static_cast<double>(z) * total;
  double sum = 0;
  size_t kept = 0;
  while (kept + kBlock < bend_count) {
    const double next = sum + sum_block(kept);
    if (!(next <= limit)) break;
    sum = next;
    kept += kBlock;
  }
  for (; kept < bend_count; ++kept) {
    sum += bend(&sorted[kept]);
    if (!(sum <= limit)) break;
  }
  candidates.keep_up_to(candidates.ranking().key_of_rank(std::max({kept, min_keep, size_t{1}})));
}

void xtc(Candidates& candidates, float threshold, size_t min_keep) {
  if (is_empty(candidates)) return;
  const double min_weight = static_cast<double>(threshold) * candidates.total();
  if (!(min_weight <= 1)) return;
  const auto floor = static_cast<float>(min_weight);
  const float* weights = candidates.weights();
  size_t likely = 0;
  uint64_t last = 0;  // key of the least likely of the tokens above the threshold
  for (size_t i = 0; i < candidates.count(); ++i) {
    if (!(weights[i] >= floor)) continue;
    ++likely;
    last = std::max(last, sort_key(candidates.logit(i), i));
  }
  if (likely < 2 || candidates.count() - (likely - 1) < min_keep) return;
  candidates.keep_if([&](size_t i) { return !(weights[i] >= floor) || i == key_index(last); });
}

}  // namespace sotto
