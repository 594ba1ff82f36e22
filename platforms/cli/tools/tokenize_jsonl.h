// JSON lines: {"text":...} becomes {"ids":[...]} and {"ids":[...]} becomes {"text":...}.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "platforms/cli/support/model.h"

namespace sotto::cli {

// {"text":...}; for bytes that are not UTF-8 with U+FFFD in it, and "bytes_hex" beside it.
nlohmann::ordered_json text_json(const std::string& bytes);

// From standard input to standard output, one line out for each line in. Returns false if a
// line was bad.
bool convert_lines(const Model& model, bool special);

}  // namespace sotto::cli
