// What a library built with SOTTO_FEATURE_SAMPLERS=basic leaves out of the chain:
// more_samplers.cpp has it, absent_samplers.cpp refuses the parameters that turn it on.
#pragma once

#include "runtime/base/status.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/chain.h"
#include "runtime/sampling/stages/dry.h"

namespace sotto {

// kUnsupported where the parameters turn on what is left out.
Status check_samplers_built(const SamplerParams& params, Error* error);

// Stages beyond biases, bans, penalties, temperature, top-k, top-p and min-p.
void run_more(StageKind stage, Candidates& candidates, const StageInput& input);

// DRY's breakers, of the parameters.
void set_breakers(const SamplerParams& params, const TokenBytes& bytes, BreakerSet* breakers);

// select() by what is neither kGreedy nor kMultinomial.
size_t select_otherwise(Candidates& candidates, const StageInput& input, SamplerState* state);

}  // namespace sotto
