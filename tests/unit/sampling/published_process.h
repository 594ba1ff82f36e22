// Runs the published cases of bans, biases and penalties, each through a whole sampler.
#pragma once

#include <nlohmann/json.hpp>

namespace sotto {

// Returns false if the case is of another kind. Failures are GoogleTest's.
bool check_process_case(const nlohmann::json& c);

}  // namespace sotto
