// The stages of the chain. A stage is a function that changes logits or drops tokens, and runs only if its parameters
// in `StageInput::params` turn it on.
#pragma once

#include <cstddef>

#include "runtime/generated/params.h"
#include "runtime/generated/stages.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/past_tokens.h"
#include "runtime/sampling/sample_input.h"
#include "runtime/sampling/sampler_context.h"
#include "runtime/sampling/scratch.h"

namespace sotto {

class BreakerSet;

// The input of a stage, apart from the candidates.
struct StageInput {
  const SamplerParams& params;
  const SamplerContext& context;
  const SampleInput& sample;
  const SamplerState& state;
  PastTokens& past;
  const BreakerSet& breakers;
  const SamplerScratch& scratch;
};

using StageFunction = void(Candidates& candidates, const StageInput& input);

// One function per stage, named like the stage.
namespace stages {
#define SOTTO_DECLARE_STAGE(kind, function, effect, is_built) StageFunction function;
SOTTO_STAGES(SOTTO_DECLARE_STAGE)
#undef SOTTO_DECLARE_STAGE
}  // namespace stages

// Keeps the tokens with p >= min_p, but at least the `min_keep` (1 or more) most likely ones, or all if there are
// fewer. Several stages and Mirostat use it (truncation.cpp).
void keep_probable(Candidates& candidates, double min_p, size_t min_keep);

}  // namespace sotto
