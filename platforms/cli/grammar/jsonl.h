// `sotto grammar check --jsonl`: each line has a grammar and texts; the answer says which of them it accepts.
#pragma once

#include "platforms/cli/grammar/matching.h"

namespace sotto::cli {

// Answers the lines of standard input. `vocabulary`, for token literals, may be null. Returns false if a line was not a
// request.
bool check_lines(const Vocabulary* vocabulary);

}  // namespace sotto::cli
