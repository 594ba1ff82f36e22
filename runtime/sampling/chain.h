// The chain: the stages that the parameters turn on, in their order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/sampling/stages/stage.h"

namespace sotto {

// The temperature is 0 for every distribution, also with dynamic temperature.
inline bool has_zero_temperature(const SamplerParams& params) {
  return !(params.temperature > 0) && !(params.temperature_range > 0);
}

// Returns whether the most likely token is always selected: the temperature is 0 or the selection is greedy.
inline bool is_greedy(const SamplerParams& params) {
  return has_zero_temperature(params) || params.selection == Selection::kGreedy;
}

class Chain {
 public:
  // Kinds of stages that run() skips.
  struct Skip {
    bool bans = false;                // stages that ban tokens
    bool all_but_reweighing = false;  // all stages except those that change logits because of the text
  };

  // Builds the chain. `params` must have passed check_stages().
  static Chain make(const SamplerParams& params);

  std::span<const StageKind> stages() const { return {stages_.data(), count_}; }
  bool can_ban() const;
  // Runs the stages of the chain except those in `skip`, each on a complete set. The last truncation may remain
  // recorded.
  void run(Candidates& candidates, const StageInput& input, Skip skip) const;

 private:
  std::array<StageKind, kChainStageCount> stages_ = {};
  size_t count_ = 0;
};

// Returns the order of the stages: a predefined one, or the caller's, which may also name hard bans.
std::span<const StageKind> stage_order(const SamplerParams& params);

// Checks that `params.stages` contains only known stages or bans, each at most once, and every stage that is on.
Status check_stages(const SamplerParams& params, Error* error);

// Returns kUnsupported if the parameters need a stage or a selection that is not part of this build.
Status check_built(const SamplerParams& params, Error* error);

}  // namespace sotto
