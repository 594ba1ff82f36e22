// Adaptive-p (MrJackSpade 2025, as in llama.cpp): favours tokens whose probability is near a
// target, which moves so that the mean of what was picked stays at the one given.
#pragma once

#include <span>

#include "runtime/sampling/candidates.h"
#include "runtime/sampling/sample_input.h"

namespace sotto {

// The mean is at the target before the first token.
void begin_adaptive(float target, float decay, SamplerState* state);

// l = 5 - 10 x^2 / (1 + x) with x = |p - goal| / 0.3, where goal is 2 target less the mean so
// far, within 0 ... 1. Tokens of -infinity stay there. Returns p, which holds until keys are
// collected.
std::span<const float> adapt(Candidates& candidates, float target, const SamplerState& state);

// Takes the probability that the picked token had before adapt() into the mean.
void record_adaptive(float probability, float decay, SamplerState* state);

}  // namespace sotto
