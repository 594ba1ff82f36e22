// Which values the parameters of bans, biases, penalties and watermarks may have.
#pragma once

#include "runtime/base/status.h"
#include "runtime/sampling/chain.h"
#include "runtime/sampling/sampler_params.h"

namespace sotto {

// Names the first parameter, and its first element, at fault.
Status check_penalties(const SamplerParams& params, Error* error);
Status check_lists(const SamplerParams& params, const SamplerShape& shape, Error* error);
Status check_watermark(const WatermarkParams& params, Error* error);
Status check_watermark_selection(const SamplerParams& params, Error* error);

}  // namespace sotto
