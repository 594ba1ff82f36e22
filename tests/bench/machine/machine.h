// Describes the machine that the figures were measured on.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tests/bench/machine/memory.h"

namespace sotto::bench {

nlohmann::ordered_json describe_machine(Pages pages);

// Returns the number of bytes of this build's shared library that a process loads, without symbols and debug
// information. Returns nullopt if the library is not next to this program.
std::optional<uint64_t> library_size();

}  // namespace sotto::bench
