// Stages that drop unlikely tokens. Among equal logits, the lower id counts as the more likely one. Probabilities p are
// normalized over the remaining tokens, and H is their entropy. Every stage keeps at least `min_keep` tokens (1 or
// more), or all tokens if there are fewer.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/base/random.h"
#include "runtime/base/scalar_math.h"
#include "runtime/sampling/stages/selection.h"

namespace sotto {

namespace {

bool is_empty(const Candidates& candidates) { return candidates.max() == kMinusInfinity; }

// Keeps the prefix of the sorted order that ends at `border`, but at least `min_keep` tokens.
void keep_prefix(Candidates& candidates, uint64_t border, size_t min_keep) {
  if (min_keep > 1) border = std::max(border, candidates.ranking().key_of_rank(std::min(min_keep, candidates.count())));
  candidates.keep_up_to(border);
}

// Keeps the tokens with a weight of at least `min_weight`, and at least `min_keep` tokens. The most likely token always
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
uint64_t fixed_mass(const Candidates& candidates, float mass) {
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

// Sorts the weights in descending order, in the scratch memory: a radix sort on their distance from 1, ten bits at a
// time, least significant digit first.
std::span<const float> sort_weights(const Candidates& candidates, const SamplerScratch& scratch) {
  constexpr uint32_t kOne = std::bit_cast<uint32_t>(1.0f);  // a number of 30 bits
  const size_t count = candidates.count();
  uint32_t* from = scratch.words;
  uint32_t* to = from + count;
  uint64_t* offsets = scratch.bucket_sums;
  const float* weights = candidates.weights();
  for (size_t i = 0; i < count; ++i) from[i] = kOne - std::bit_cast<uint32_t>(weights[i]);
  for (int shift = 0; shift < 30; shift += kBucketBits) {
    const auto digit = [shift](uint32_t number) { return number >> shift & (kBucketCount - 1); };
    std::fill_n(offsets, kBucketCount, 0);
    for (size_t i = 0; i < count; ++i) ++offsets[digit(from[i])];
    uint64_t next = 0;
    for (size_t d = 0; d < kBucketCount; ++d) next += std::exchange(offsets[d], next);
    for (size_t i = 0; i < count; ++i) to[offsets[digit(from[i])]++] = from[i];
    std::swap(from, to);
  }
  for (size_t i = 0; i < count; ++i) from[i] = kOne - from[i];
  return {reinterpret_cast<const float*>(from), count};
}

// Returns the absolute second difference of three consecutive weights.
double bend(const float* p) { return static_cast<double>(std::fabs((p[0] - p[1]) - (p[1] - p[2]))); }

}  // namespace

void keep_probable(Candidates& candidates, double min_p, size_t min_keep) {
  if (is_empty(candidates)) return;
  keep_weights(candidates, min_p * candidates.total(), min_keep);
}

namespace stages {

// Top-k (Fan et al. 2018): keeps the k most likely tokens.
void top_k(Candidates& candidates, const StageInput& input) {
  candidates.keep_top(std::max(input.params.top_k, input.params.min_keep));
}

// Top-p or nucleus sampling (Holtzman et al. 2020): keeps the shortest prefix of the sorted tokens with a probability
// of at least p. After t tokens, p is top_p decay^t, but no less than top_p_min (Lee et al. 2022).
void top_p(Candidates& candidates, const StageInput& input) {
  const SamplerParams& params = input.params;
  const double decay = bounded_power(static_cast<double>(params.top_p_decay), input.state.top_p_step);
  const float p = std::max(params.top_p_min, static_cast<float>(static_cast<double>(params.top_p) * decay));
  if (!(p < 1) || is_empty(candidates)) return;
  const uint64_t total = candidates.total_fixed();
  const uint64_t border = candidates.ranking().find_prefix(candidates.weights(), total, fixed_mass(candidates, p));
  keep_prefix(candidates, border, params.min_keep);
}

// Min-p (Nguyen et al. 2024): keeps tokens with p >= ratio * max p.
void min_p(Candidates& candidates, const StageInput& input) {
  constexpr size_t kSmallSet = 1024;
  const auto ratio = static_cast<double>(input.params.min_p);
  if (is_empty(candidates)) return;
  if (candidates.count() > kSmallSet && input.params.min_keep <= 1) {
    // Logits well below the border are dropped before any weight is computed.
    const double max = static_cast<double>(candidates.max());
    const double margin = 1e-6 * std::fabs(max);
    const double floor = max - margin + (ln(ratio) - 1e-3) / static_cast<double>(candidates.inverse_temperature());
    if (std::fabs(floor) <= static_cast<double>(std::numeric_limits<float>::max())) {
      candidates.keep_from_logit(static_cast<float>(floor));
    }
  }
  keep_weights(candidates, ratio, input.params.min_keep);
}

// Top-a (BlinkDL 2021): keeps tokens with p >= a * (max p)^2.
void top_a(Candidates& candidates, const StageInput& input) {
  if (is_empty(candidates)) return;
  keep_weights(candidates, static_cast<double>(input.params.top_a) / candidates.total(), input.params.min_keep);
}

// Epsilon sampling (Hewitt et al. 2022): keeps tokens with p >= epsilon.
void epsilon(Candidates& candidates, const StageInput& input) {
  keep_probable(candidates, static_cast<double>(input.params.epsilon), input.params.min_keep);
}

// Eta sampling (Hewitt et al. 2022): keeps tokens with p >= min(eta, sqrt(eta) e^-H).
void eta(Candidates& candidates, const StageInput& input) {
  if (is_empty(candidates)) return;
  const auto e = static_cast<double>(input.params.eta);
  keep_probable(candidates, std::min(e, std::sqrt(e) * e_to(-entropy(candidates))), input.params.min_keep);
}

// Top-n-sigma (Tang et al. 2024): keeps tokens with l / T >= max - n sigma, where sigma is the standard deviation of
// all finite l / T.
void top_n_sigma(Candidates& candidates, const StageInput& input) {
  const size_t min_keep = input.params.min_keep;
  if (is_empty(candidates) || min_keep >= candidates.count()) return;
  // A temperature scales both sides of the comparison by the same factor.
  const double sigma = standard_deviation(candidates.logits(), candidates.count());
  const double floor = static_cast<double>(candidates.max()) - static_cast<double>(input.params.top_n_sigma) * sigma;
  const auto min_logit = static_cast<float>(std::max(floor, -static_cast<double>(std::numeric_limits<float>::max())));
  if (min_keep > 1) {
    const uint64_t key = candidates.ranking().key_of_rank(min_keep);
    if (!(candidates.logit(key_index(key)) >= min_logit)) return candidates.keep_up_to(key);
  }
  candidates.keep_from_logit(min_logit);
}

// Top-h (Potraghloo et al. 2025): keeps the longest prefix of the sorted tokens with -sum p ln p <= h H.
void top_h(Candidates& candidates, const StageInput& input) {
  const size_t min_keep = input.params.min_keep;
  if (is_empty(candidates) || min_keep >= candidates.count()) return;
  const float* weights = candidates.weights();
  const auto log_total = static_cast<float>(ln(candidates.total()));
  // Computes -p ln p = weight (gap + ln total) / total, without the division, as an integer number of 2^-36, the last
  // bit of a double in [2^16, 2^17).
  const auto surprise = [&](size_t i) {
    constexpr double kBase = 0x1p16;
    const float s = zero_unless(weights[i] > 0, weights[i] * (candidates.gap(i) + log_total));
    return std::bit_cast<uint64_t>(static_cast<double>(s) + kBase) - std::bit_cast<uint64_t>(kBase);
  };
  const std::span<uint64_t> keys(input.scratch.keys, candidates.count());
  uint64_t total = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    keys[i] = sort_key(candidates.logit(i), i);
    total += surprise(i);
  }
  uint64_t border = 0;  // the first token beyond the limit
  if (total > 0) {
    const double limit = std::floor(static_cast<double>(input.params.top_h) * static_cast<double>(total));
    const uint64_t target = std::min(static_cast<uint64_t>(limit) + 1, total);
    border = select_by_sum(keys, surprise, target, input.scratch.bucket_sums);
  }
  const uint64_t min_border = candidates.ranking().key_of_rank(min_keep);
  if (border <= min_border) return candidates.keep_up_to(min_border);
  candidates.keep_if([&](size_t i) { return sort_key(candidates.logit(i), i) < border; });
}

// Locally typical sampling (Meister et al. 2023): orders the tokens by |-ln p - H| and keeps the shortest prefix with a
// probability of at least typical_p. `min_keep` counts in this order.
void typical(Candidates& candidates, const StageInput& input) {
  const size_t min_keep = input.params.min_keep;
  if (is_empty(candidates) || min_keep >= candidates.count()) return;
  const float* weights = candidates.weights();
  const auto center = static_cast<float>(entropy(candidates) - ln(candidates.total()));
  // The tokens are ordered by |-ln p - H| = |gap - center|, with NaN last.
  const auto key_of = [&](size_t i) {
    constexpr float kFarthest = std::numeric_limits<float>::infinity();
    const float distance = std::fabs(candidates.gap(i) - center);
    return uint64_t{std::bit_cast<uint32_t>(distance < kFarthest ? distance : kFarthest)} << 32 | i;
  };
  const std::span<uint64_t> keys(input.scratch.keys, candidates.count());
  const auto select = [&](auto measure, uint64_t target) {
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = key_of(i);
    return select_by_sum(keys, measure, target, input.scratch.bucket_sums);
  };
  uint64_t border =
      select([=](size_t i) { return to_fixed(weights[i]); }, fixed_mass(candidates, input.params.typical_p));
  if (min_keep > 1) border = std::max(border, select([](size_t) { return uint64_t{1}; }, min_keep));
  candidates.keep_if([&](size_t i) { return key_of(i) <= border; });
}

// Tail-free sampling (Phan 2019): for the sorted p, let d_i = |(p_i - p_i+1) - (p_i+1 - p_i+2)|. Keeps the longest
// prefix with a sum of d of at most z times the total, or all tokens if the total is 0.
void tail_free(Candidates& candidates, const StageInput& input) {
  constexpr size_t kBlock = 256;  // number of second differences per partial sum
  const size_t min_keep = input.params.min_keep;
  if (candidates.count() <= 2 || min_keep >= candidates.count() || is_empty(candidates)) return;
  const std::span<const float> sorted = sort_weights(candidates, input.scratch);
  const size_t bend_count = sorted.size() - 2;
  const auto sum_block = [&](size_t first) {
    FoldedSum sum;
    for (size_t i = 0; i < std::min(kBlock, bend_count - first); ++i) sum.add(i, bend(&sorted[first + i]));
    return sum.fold();
  };
  double total = 0;
  for (size_t first = 0; first < bend_count; first += kBlock) total += sum_block(first);
  if (total == 0) return;
  const double limit = static_cast<double>(input.params.tail_free) * total;
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
  candidates.keep_top(std::max({kept, min_keep, size_t{1}}));
}

// XTC, "exclude top choices" (p-e-w 2024): at random steps, drops the tokens with p >= threshold, except for
// the least likely of them. Drops none if fewer than min_keep tokens would remain.
void xtc(Candidates& candidates, const StageInput& input) {
  if (uniform(draw_bits(input, DrawLane::kXtc)) >= static_cast<double>(input.params.xtc_probability)) return;
  if (is_empty(candidates)) return;
  const double min_weight = static_cast<double>(input.params.xtc_threshold) * candidates.total();
  if (!(min_weight <= 1)) return;
  const auto floor = static_cast<float>(min_weight);
  const float* weights = candidates.weights();
  const size_t count = candidates.count();
  size_t likely = 0;
  uint64_t last = 0;  // key of the least likely of the tokens above the threshold
  for (size_t i = 0; i < count; ++i) {
    if (!(weights[i] >= floor)) continue;
    ++likely;
    last = std::max(last, sort_key(candidates.logit(i), i));
  }
  if (likely < 2 || count - (likely - 1) < input.params.min_keep) return;
  candidates.keep_if([&](size_t i) { return !(weights[i] >= floor) || i == key_index(last); });
}

}  // namespace stages
}  // namespace sotto
