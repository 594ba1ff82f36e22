// The sampler's parameters as JSON, under the names that other programs use, too.
#pragma once

#include <sotto.hpp>

#include "platforms/cli/options/parameters.h"

namespace sotto::cli {

// Returns a JSON object with all parameters and all lists that are not empty, under the names of sotto_sampler_params.
Json sampler_json(const SamplerParams& params);

// Sets the parameters in `object`, by any of their names. Throws a Failure that names the parameter if its value is
// invalid, its name is unknown, or it does not affect the choice of a single token.
void read_sampler_json(const Json& object, SamplerParams& params);

}  // namespace sotto::cli
