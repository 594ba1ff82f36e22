// Which parameters belong to which stage, and which values turn it off.
#pragma once

#include "runtime/sampling/sampler_params.h"

namespace sotto {

// The temperature is 0, whatever the entropy.
bool is_cold(const SamplerParams& params);

// Cold, or Selection::kGreedy: the most likely token.
bool is_greedy(const SamplerParams& params);

// Whether the stage would change anything.
bool is_on(StageKind stage, const SamplerParams& params);

// The parameter that turns the stage on.
const char* stage_setting(StageKind stage);

}  // namespace sotto
