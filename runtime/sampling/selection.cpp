#include "runtime/sampling/selection.h"

#include "runtime/base/random.h"
#include "runtime/sampling/stage_settings.h"

namespace sotto {

uint64_t draw_bits(const StageInput& input, DrawLane lane) {
  return random_bits(input.params.seed, input.input.draw, input.input.sequence,
                     static_cast<uint32_t>(lane));
}

size_t select(Candidates& candidates, const StageInput& input, SamplerState*) {
  if (is_greedy(input.params)) return select_greedy(candidates);
  return select_multinomial(candidates, draw_bits(input, DrawLane::kSelection));
}

size_t select_greedy(const Candidates& candidates) { return candidates.argmax(); }

size_t select_multinomial(Candidates& candidates, uint64_t random) {
  if (candidates.count() == 1 || candidates.max() == Candidates::kLowest) return 0;
  return candidates.find_cumulative(multiply_high(random, candidates.total_weight()));
}

}  // namespace sotto
