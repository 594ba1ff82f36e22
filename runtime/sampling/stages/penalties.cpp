#include "runtime/sampling/stages/penalties.h"

namespace sotto {

void repetition_penalty(Candidates& candidates, std::span<const PastToken> window, float penalty) {
  for (const PastToken& past : window) {
    const float r = past.newest == 1 ? penalty : 1 + past.newest * (penalty - 1);
    candidates.change(past.token, [r](float l) { return l > 0 ? l / r : l * r; });
  }
}

void frequency_penalty(Candidates& candidates, std::span<const PastToken> window, float penalty) {
  for (const PastToken& past : window) {
    const float amount = past.sum * penalty;
    candidates.change(past.token, [amount](float l) { return l - amount; });
  }
}

void presence_penalty(Candidates& candidates, std::span<const PastToken> window, float penalty) {
  for (const PastToken& past : window) {
    const float amount = past.newest * penalty;
    candidates.change(past.token, [amount](float l) { return l - amount; });
  }
}

float guarded_penalty(float penalty, float limit, float severity) {
  return limit > penalty ? penalty + severity * (limit - penalty) : penalty;
}

}  // namespace sotto
