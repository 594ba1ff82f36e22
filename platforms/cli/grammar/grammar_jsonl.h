// JSON lines: a grammar and texts in, which of them it accepts out.
#pragma once

#include "platforms/cli/grammar/grammar.h"

namespace sotto::cli {

// From standard input to standard output, one line out for each line in. `vocabulary`, for
// token literals, may be null. Returns false if a line was no request.
bool check_lines(const Vocabulary* vocabulary);

}  // namespace sotto::cli
