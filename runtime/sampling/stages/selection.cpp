#include "runtime/sampling/stages/selection.h"

#include "runtime/base/random.h"
#include "runtime/base/scalar_math.h"
#include "runtime/sampling/chain.h"
#include "runtime/sampling/stages/more_samplers.h"
#include "runtime/sampling/watermark/gumbel_max.h"
#include "runtime/sampling/watermark/watermark.h"

namespace sotto {

uint64_t draw_bits(const StageInput& input, DrawLane lane) {
  return random_bits(input.params.seed, input.input.draw, input.input.sequence, static_cast<uint32_t>(lane));
}

static size_t draw(Candidates& candidates, const StageInput& input) {
  return select_multinomial(candidates, draw_bits(input, DrawLane::kSelection));
}

size_t select(Candidates& candidates, const StageInput& input, SamplerState* state) {
  if (is_greedy(input.params)) return select_greedy(candidates);
  const WatermarkParams& watermark = input.params.watermark;
  if (uint64_t seed; replaces_selection(watermark.scheme) && watermark_seed(watermark, input.past, &seed)) {
    if (watermark.scheme == WatermarkScheme::kGumbel) {
      return select_gumbel_watermark(candidates, seed);
    }
    return select_tournament(candidates, seed, watermark.tournament_layers, draw_bits(input, DrawLane::kSelection));
  }
  const Selection selection = input.params.selection;
  if (selection != Selection::kMultinomial) return select_otherwise(candidates, input, state);
  return draw(candidates, input);
}

bool only_draws(const SamplerParams& params) {
  return params.selection == Selection::kMultinomial && !is_greedy(params) &&
         !replaces_selection(params.watermark.scheme);
}

size_t select_greedy(const Candidates& candidates) { return candidates.argmax(); }

size_t select_multinomial(Candidates& candidates, uint64_t random) {
  if (candidates.count() == 1 || candidates.max() == Candidates::kLowest) return 0;
  return candidates.draw(random);
}

size_t select_gumbel(Candidates& candidates, uint64_t seed) {
  if (candidates.max() == Candidates::kLowest) return 0;
  const float* weights = candidates.weights();
  // Four tokens share one hash for the first 16 bits of their 1 - u; the other 48 bits are computed only
  // for tokens that may win, as -ln u >= 1 - u.
  uint32_t four = UINT32_MAX;
  uint64_t bits = 0;
  return find_first_arrival(candidates.count(), [&](size_t i, double earliest) {
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
}

}  // namespace sotto
