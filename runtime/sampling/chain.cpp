#include "runtime/sampling/chain.h"

#include "runtime/sampling/penalties.h"
#include "runtime/sampling/selection.h"
#include "runtime/sampling/truncation.h"

namespace sotto {

int32_t Chain::run(Candidates& candidates, const StageInput& input) const {
  using Kind = Stage::Kind;
  for (size_t i = 0; i < count_; ++i) {
    const Stage& stage = stages_[i];
    switch (stage.kind) {
      case Kind::kRepetitionPenalty:
        repetition_penalty(candidates, input.history, stage.count, stage.value);
        break;
      case Kind::kTopK: top_k(candidates, stage.count); break;
      case Kind::kTopP: top_p(candidates, stage.value); break;
      case Kind::kMinP: min_p(candidates, stage.value); break;
      case Kind::kTemperature: candidates.divide_by(stage.value); break;
      case Kind::kGreedy: return select_greedy(candidates);
      case Kind::kMultinomial: return select_multinomial(candidates, input.random);
    }
  }
  return -1;
}

Chain make_chain(const SamplerParams& params) {
  using Kind = Stage::Kind;
  Chain chain;
  if (params.repetition_penalty != 1 && params.repetition_window > 0) {
    chain.add({Kind::kRepetitionPenalty, params.repetition_penalty, params.repetition_window});
  }
  if (params.temperature == 0) {
    // No truncation drops the most likely token.
    chain.add({Kind::kGreedy});
    return chain;
  }
  if (params.top_k > 0) chain.add({Kind::kTopK, 0, params.top_k});
  if (params.top_p < 1) chain.add({Kind::kTopP, params.top_p});
  if (params.min_p > 0) chain.add({Kind::kMinP, params.min_p});
  if (params.temperature != 1) chain.add({Kind::kTemperature, params.temperature});
  chain.add({Kind::kMultinomial});
  return chain;
}

}  // namespace sotto
