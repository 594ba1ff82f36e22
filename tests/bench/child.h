// The program running itself: a hidden first argument makes it a child that measures one
// thing in a fresh process and prints it as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sotto::bench {

// Runs this program with `arguments` and waits. What it printed, with "started_ns", the
// clock just before it was started. Throws with its message if it fails.
nlohmann::json run_child(const std::vector<std::string>& arguments);

// Returns the path of this program.
std::string program_path();

}  // namespace sotto::bench
