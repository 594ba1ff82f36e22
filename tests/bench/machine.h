// What the figures were measured on.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tests/bench/memory.h"

namespace sotto::bench {

nlohmann::ordered_json describe_machine(Pages pages);

// Bytes of the shared library that belongs to this build that a process loads, so without
// symbols and debug information; nullopt where it is not beside this program.
std::optional<uint64_t> library_size();

}  // namespace sotto::bench
