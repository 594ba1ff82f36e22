// The options --preset and --params, which set the values that all other options change.
#pragma once

#include <cstdint>

#include "platforms/cli/options/sampler.h"
#include "platforms/cli/options/stops.h"

namespace sotto::cli {

// Adds both options. They must be added before the options of the parameters, because values are set in this order. All
// arguments must outlive `command`.
void add_base_options(Command& command, SamplerOptions& sampler, StopOptions& stops, SessionParams& session,
                      int64_t& token_limit);

// Sets the parameters in `object`, by their JSON names. Throws a Failure that names the parameter.
void read_params_json(const Json& object, SamplerOptions& sampler, StopOptions& stops, SessionParams& session,
                      int64_t& token_limit);

}  // namespace sotto::cli
