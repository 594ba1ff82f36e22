// Validates the parameters of a sampler.
#pragma once

#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/sampling/chain.h"

namespace sotto {

// Rejects the first parameter, and its first element, that a sampler of this shape cannot have.
Status check_sampler(const SamplerParams& params, const SamplerShape& shape, Error* error);

}  // namespace sotto
