// The published cases of bans, biases and penalties, each through a whole sampler.
#pragma once

#include <nlohmann/json.hpp>

namespace sotto {

// False if the case belongs to another family. Failures are GoogleTest's.
bool check_process_case(const nlohmann::json& c);

}  // namespace sotto
