// Which values the parameters of a sampler may have.
#pragma once

#include "runtime/base/status.h"
#include "runtime/sampling/chain.h"
#include "runtime/sampling/sampler_params.h"

namespace sotto {

// Names the first parameter that is out of its range.
Status check_sampler(const SamplerParams& params, const SamplerShape& shape, Error* error);

}  // namespace sotto
