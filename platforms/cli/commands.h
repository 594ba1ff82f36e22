// The commands of the program. Each function adds the options of a command and stores the function that runs it.
#pragma once

#include <functional>

#include "platforms/command_line/command_line.h"

namespace sotto::cli {

using Run = std::function<int()>;  // returns the exit code; throws Failure

// These set `run` if the command was given.
void add_generate(Command& app, Run& run);
void add_tokenize(Command& app, Run& run);
void add_inspect(Command& app, Run& run);
void add_sample(Command& app, Run& run);
void add_score(Command& app, Run& run);
void add_embed(Command& app, Run& run);
void add_detect(Command& app, Run& run);
void add_grammar(Command& app, Run& run);

}  // namespace sotto::cli
