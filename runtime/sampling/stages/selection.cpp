#include "runtime/sampling/stages/selection.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/features.h"
#include "runtime/base/random.h"
#include "runtime/base/scalar_math.h"
#include "runtime/sampling/chain.h"
#include "runtime/sampling/watermark/gumbel_max.h"
#include "runtime/sampling/watermark/watermark.h"

namespace sotto {

namespace {

constexpr double kLn2 = 0x1.62e42fefa39efp-1;

// Selects the stream of random numbers for a draw after a rejection. The draw must not reuse the random number that
// selected the rejected token, because the remaining tokens would then not be drawn in proportion to their
// probabilities.
constexpr uint32_t kRejectionSequence = 0x80000000;

// Returns the exponent of Zipf's law, fitted to the sorted keys, or infinity if the second token has probability 0.
double zipf_exponent(const Candidates& candidates, std::span<const uint64_t> keys) {
  // The same as Candidates::gap(), but does not need the weights of all candidates.
  const auto gap_of = [&](uint64_t key) {
    const float logit = candidates.logit(key_index(key)), max = candidates.max();
    return static_cast<double>(zero_unless(!(logit >= max), (max - logit) * candidates.inverse_temperature()));
  };
  double products = 0, squares = 0;
  for (size_t i = 0; i + 1 < keys.size(); ++i) {
    const double here = gap_of(keys[i]);
    const double next = gap_of(keys[i + 1]);
    const double t = ln(static_cast<double>(i + 2) / static_cast<double>(i + 1));
    if (!(next <= 1e30)) break;
    products += t * (next - here);
    squares += t * t;
  }
  return squares > 0 ? products / squares : std::numeric_limits<double>::infinity();
}

double token_count(double s, double mu, double n) {
  const double epsilon = s - 1;
  const double whole = e_to(mu * kLn2);
  // Near 1, the quotient is replaced by its limit 1 / ln N.
  const double rate = std::fabs(epsilon) < 1e-9 ? 1 / ln(n) : epsilon / (1 - e_to(-epsilon * ln(n)));
  return power_of(rate * whole, 1 / s);
}

int32_t draw(Candidates& candidates, const StageInput& input) {
  return select_multinomial(candidates, draw_bits(input, DrawLane::kSelection));
}

void truncate(Candidates& candidates, const SamplerParams& params, float mu) {
  if (params.selection == Selection::kMirostat) {
    truncate_mirostat(candidates, params.mirostat_m, mu);
  } else {
    truncate_mirostat_v2(candidates, mu);
  }
}

int32_t run_mirostat(Candidates& candidates, const StageInput& input, SamplerState* state) {
  const SamplerParams& p = input.params;
  truncate(candidates, p, state->mirostat_mu);
  const int32_t selected = draw(candidates, input);
  state->mirostat_mu = next_mu(candidates, selected, p, state->mirostat_mu);
  return selected;
}

AdaptiveP adaptive_of(const SamplerParams& params) { return {params.adaptive_target, params.adaptive_decay}; }

int32_t run_adaptive(Candidates& candidates, const StageInput& input, SamplerState* state) {
  if (candidates.max() == kMinusInfinity) return candidates.id(0);
  const AdaptiveP adaptive = adaptive_of(input.params);
  adaptive.apply(candidates, *state, input.scratch.floats);
  const int32_t selected = draw(candidates, input);
  adaptive.record(input.scratch.floats[candidates.find(selected)], state);
  return selected;
}

}  // namespace

uint64_t draw_bits(const StageInput& input, DrawLane lane) {
  const uint32_t rejected = input.sample.rejected_count;
  const uint32_t sequence = rejected == 0 ? input.sample.sequence : kRejectionSequence + rejected;
  return random_bits(input.params.seed, input.sample.place, sequence, static_cast<uint32_t>(lane));
}

int32_t select(Candidates& candidates, const StageInput& input, SamplerState* state) {
  const WatermarkParams& watermark = input.params.watermark;
  const bool has_watermark = kHasWatermark && replaces_selection(watermark.scheme);
  const Selection selection = is_greedy(input.params) ? Selection::kGreedy
                              : kHasAllSamplers       ? input.params.selection
                                                      : Selection::kMultinomial;
  // Only a draw can follow a recorded truncation directly.
  if (selection == Selection::kMultinomial && !has_watermark) return draw(candidates, input);
  candidates.apply_truncation();
  if (selection == Selection::kGreedy) return select_greedy(candidates);
  if (uint64_t seed; has_watermark && watermark_seed(watermark, input.past, &seed)) {
    if (watermark.scheme == WatermarkScheme::kGumbel) return select_gumbel_watermark(candidates, seed);
    return select_tournament(candidates, input.scratch, seed, watermark.tournament_layers,
                             draw_bits(input, DrawLane::kSelection));
  }
  switch (selection) {
    case Selection::kGumbel:
      return select_gumbel(candidates, draw_bits(input, DrawLane::kGumbel));
    case Selection::kMirostat:
    case Selection::kMirostatV2:
      return run_mirostat(candidates, input, state);
    case Selection::kAdaptiveP:
      return run_adaptive(candidates, input, state);
    default:
      return draw(candidates, input);
  }
}

void apply_selection(Candidates& candidates, const StageInput& input) {
  if (!kHasAllSamplers || is_greedy(input.params) || candidates.max() == kMinusInfinity) return;
  switch (input.params.selection) {
    case Selection::kMirostat:
    case Selection::kMirostatV2:
      return truncate(candidates, input.params, input.state.mirostat_mu);
    case Selection::kAdaptiveP:
      return adaptive_of(input.params).apply(candidates, input.state, input.scratch.floats);
    default:
      return;
  }
}

int32_t select_greedy(const Candidates& candidates) { return candidates.id(candidates.ranking().argmax()); }

int32_t select_multinomial(Candidates& candidates, uint64_t random) {
  if (candidates.max() == kMinusInfinity) return candidates.id(0);
  return candidates.draw(random);
}

int32_t select_gumbel(const Candidates& candidates, uint64_t seed) {
  if (candidates.max() == kMinusInfinity) return candidates.id(0);
  const float* weights = candidates.weights();
  // Four tokens share one hash, which has the first 16 bits of 1 - u for each of them. The other 48 bits are computed
  // only for tokens that can still win, because -ln u >= 1 - u.
  uint32_t four = UINT32_MAX;
  uint64_t bits = 0;
  const size_t winner = find_first_arrival(candidates.count(), [&](size_t i, double earliest) {
    const auto id = static_cast<uint32_t>(candidates.id(i));
    if (id / 4 != four) {
      four = id / 4;
      bits = split_mix(seed, four);
    }
    const auto first = static_cast<uint32_t>(bits >> 16 * (id % 4) & 0xffff);
    const auto weight = static_cast<double>(weights[i]);
    if (!(static_cast<double>(first) * 0x1p-16 < earliest * weight)) return earliest;
    const auto rest = static_cast<double>(split_mix(~seed, id) >> 16) + 0.5;
    return -ln(1 - (static_cast<double>(first) + rest * 0x1p-48) * 0x1p-16) / weight;
  });
  return candidates.id(winner);
}

void truncate_mirostat(Candidates& candidates, uint32_t m, float mu) {
  const size_t count = candidates.count();
  if (count < 2 || candidates.max() == kMinusInfinity) return;
  const std::span<const uint64_t> keys = candidates.ranking().sorted_prefix(std::min<size_t>(m, count));
  const double s = zipf_exponent(candidates, keys);
  if (!(s < std::numeric_limits<double>::infinity())) return candidates.keep_top(1);
  if (!(s > 0)) return;  // all logits are equal, so the law removes nothing
  const double k = token_count(s, static_cast<double>(mu), static_cast<double>(count));
  if (k < static_cast<double>(count)) candidates.keep_top(k >= 1 ? static_cast<size_t>(k) : 1);
}

void truncate_mirostat_v2(Candidates& candidates, float mu) {
  keep_probable(candidates, e_to(-static_cast<double>(mu) * kLn2), 1);
}

float next_mu(Candidates& candidates, int32_t selected, const SamplerParams& params, float mu) {
  if (candidates.max() == kMinusInfinity) return mu;
  const double surprise = -candidates.log_probability(selected) / kLn2;
  const double step = static_cast<double>(params.mirostat_eta) * (surprise - static_cast<double>(params.mirostat_tau));
  return static_cast<float>(static_cast<double>(mu) - step);
}

void AdaptiveP::begin(SamplerState* state) const {
  state->adaptive_weight = 1 / (1 - decay);
  state->adaptive_sum = target * state->adaptive_weight;
}

void AdaptiveP::apply(Candidates& candidates, const SamplerState& state, float* before) const {
  const float mean = state.adaptive_weight > 0 ? state.adaptive_sum / state.adaptive_weight : target;
  const float goal = std::clamp(2 * target - mean, 0.0f, 1.0f);
  const auto scale = static_cast<float>(1 / candidates.total());
  const float* weights = candidates.weights();
  candidates.change_logits([&](std::span<float> logits) {
    for (size_t i = 0; i < logits.size(); ++i) {
      before[i] = weights[i] * scale;
      const float d = std::fabs(before[i] - goal) * (1 / 0.3f);
      logits[i] = logits[i] > kMinusInfinity ? 5 - 10 * (d * d) / (1 + d) : kMinusInfinity;
    }
  });
}

void AdaptiveP::record(float probability, SamplerState* state) const {
  state->adaptive_sum = probability + decay * state->adaptive_sum;
  state->adaptive_weight = 1 + decay * state->adaptive_weight;
}

}  // namespace sotto
