// The bans that always hold: allowed tokens, suppressed tokens and bad words. Because they limit the mask, the stages
// of the chain never see a banned token.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/generated/params.h"
#include "runtime/sampling/sample_input.h"
#include "runtime/sampling/sampler_context.h"

namespace sotto {

// Returns whether the parameters have such bans.
bool has_hard_bans(const SamplerParams& params);

// Removes the tokens that are banned at this place from a mask with one bit per token.
void apply_hard_bans(const SamplerParams& params, const SamplerContext& context, const SampleInput& input,
                     uint64_t* words);

// Returns whether the text ends with all of `tokens` except their last one.
bool completes(const TokenHistory& history, std::span<const int32_t> tokens);

}  // namespace sotto
