// Stages that make repeated tokens less likely. The penalty window gives each token two weights (PastTokens::weigh): w
// for its last occurrence, and c for all its occurrences together.
#include "runtime/sampling/stages/stage.h"

namespace sotto {
namespace {

std::span<const PastToken> penalty_window(const StageInput& input) {
  return input.past.weigh(input.params.repetition_window, input.params.penalty_slope);
}

// Returns the repetition penalty. The more repetitive the text is, the closer the repetition guard moves it to
// guard_penalty.
float guarded_penalty(const StageInput& input) {
  const SamplerParams& p = input.params;
  if (p.guard_window == 0 || !(p.guard_penalty > p.repetition_penalty)) return p.repetition_penalty;
  const float severity = repetitiveness(input.sample.history, input.past.count_in(p.guard_window));
  return p.repetition_penalty + severity * (p.guard_penalty - p.repetition_penalty);
}

}  // namespace

namespace stages {

// Replaces l by l / r if l > 0, and by l * r otherwise, where r = 1 + w (penalty - 1) (Keskar et al. 2019).
void repetition(Candidates& candidates, const StageInput& input) {
  const float penalty = guarded_penalty(input);
  if (penalty == 1) return;
  for (const PastToken& past : penalty_window(input)) {
    const float r = past.newest == 1 ? penalty : 1 + past.newest * (penalty - 1);
    candidates.change_logit(past.token, [r](float l) { return l > 0 ? l / r : l * r; });
  }
}

// Subtracts c * penalty, as OpenAI's frequency_penalty does.
void frequency(Candidates& candidates, const StageInput& input) {
  for (const PastToken& past : penalty_window(input)) {
    const float amount = past.sum * input.params.frequency_penalty;
    candidates.change_logit(past.token, [amount](float l) { return l - amount; });
  }
}

// Subtracts w * penalty, as OpenAI's presence_penalty does.
void presence(Candidates& candidates, const StageInput& input) {
  for (const PastToken& past : penalty_window(input)) {
    const float amount = past.newest * input.params.presence_penalty;
    candidates.change_logit(past.token, [amount](float l) { return l - amount; });
  }
}

}  // namespace stages
}  // namespace sotto
