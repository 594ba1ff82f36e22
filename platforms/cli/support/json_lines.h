// JSON lines: a request a line in, its answer a line out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "platforms/cli/support/json_values.h"

namespace sotto::cli {

using AnswerLine = std::function<Json(const std::string& line)>;  // throws a Failure
using RefuseLine = std::function<Json(const std::string& message, uint64_t number)>;

// From a file, or standard input for "-", to standard output. Returns false if a line was
// refused; throws a Failure if one cannot be read or its answer cannot be written.
bool answer_lines(const std::string& path, const AnswerLine& answer, const RefuseLine& refuse);

}  // namespace sotto::cli
