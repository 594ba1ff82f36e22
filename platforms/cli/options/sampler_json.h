// The sampler's parameters as JSON.
#pragma once

#include <string>

#include "platforms/cli/options/sampler_settings.h"
#include "platforms/cli/support/json_values.h"

namespace sotto::cli {

// All of them, under the names that sotto_sampler_params has.
Json sampler_json(const SamplerSettings& settings);
Json watermark_json(const sotto_watermark_params& params);

// Sets those that `object` holds, under any of their names. Throws a Failure naming the
// parameter, also for names that mean nothing for the choice of one token.
void read_sampler_json(const Json& object, SamplerSettings& settings);

}  // namespace sotto::cli
