#include "runtime/sampling/selection.h"

#include "runtime/base/random.h"

namespace sotto {

int32_t select_greedy(const Candidates& candidates) {
  return candidates.id(candidates.argmax());
}

int32_t select_multinomial(Candidates& candidates, uint64_t random) {
  if (candidates.count() == 1 || candidates.max() == Candidates::kLowest) {
    return candidates.id(0);
  }
  const uint64_t target = multiply_high(random, candidates.total_weight());
  return candidates.id(candidates.find_cumulative(target));
}

}  // namespace sotto
