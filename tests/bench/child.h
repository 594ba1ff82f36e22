// Measurements in a fresh process: a hidden first argument makes the program a child that measures one thing and prints
// it as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sotto::bench {

// Runs this program with `arguments` and waits. Returns its output with "started_ns", the time just before it was
// started. If it fails, throws with its message.
nlohmann::json run_child(const std::vector<std::string>& arguments);

// Returns the path of this program.
std::string program_path();

}  // namespace sotto::bench
