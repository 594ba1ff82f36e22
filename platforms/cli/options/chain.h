// The sampler's chain: its stages by name, and the parameters that turn them on.
#pragma once

#include <sotto.hpp>
#include <string>
#include <vector>

#include "platforms/cli/options/parameters.h"

namespace sotto::cli {

// Appends the stage or stages with this name. Returns false if there are none.
bool append_stages(const std::string& name, std::vector<sotto_stage>& stages);

// Sets the selection of --mirostat N and of "mirostat": N. Returns false for other versions.
bool set_mirostat(uint32_t version, SamplerParams& params);

// Returns whether the temperature is always 0, also with --temp-range.
bool is_greedy_temperature(const SamplerParams& params);

// The stages that `params` turn on, in their order, without the temperature if it is 0.
struct Stage {
  const char* name;
  SamplerParams params;  // the parameters with only the stages up to this one, and without a selection
};
std::vector<Stage> stages_of(const SamplerParams& params);

// Returns the parameters with all stages off, and with the selection MULTINOMIAL.
SamplerParams without_stages(SamplerParams params);

}  // namespace sotto::cli
