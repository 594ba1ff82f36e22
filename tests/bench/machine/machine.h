// Describes the machine on which the figures were measured.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tests/bench/machine/memory.h"

namespace sotto::bench {

nlohmann::ordered_json describe_machine(Pages pages);

// Returns the bytes of this build's shared library that a process loads, that is, without symbols and debug
// information, or nullopt if the library is not next to this program.
std::optional<uint64_t> library_size();

}  // namespace sotto::bench
