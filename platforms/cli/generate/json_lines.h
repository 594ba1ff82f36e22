// Requests on standard input, one JSON object per line (--jsonl).
#pragma once

#include "platforms/cli/options/generate.h"

namespace sotto::cli {

// Answers all lines and returns the exit code. `options` are as parsed, and `validated` are the same without the
// parameters of a request.
int run_generate_lines(const Command& command, const GenerateOptions& options, const GenerateOptions& validated);

}  // namespace sotto::cli
