// The commands of the program. Each function adds a command with its options to `app`. If the command line names the
// command, `run` is set to the function that executes it.
#pragma once

#include <functional>

#include "platforms/command_line/command_line.h"

namespace sotto::cli {

using Run = std::function<int()>;  // returns the exit code; throws Failure

void add_generate(Command& app, Run& run);
void add_chat(Command& app, Run& run);
void add_tokenize(Command& app, Run& run);
void add_inspect(Command& app, Run& run);
void add_plan(Command& app, Run& run);
void add_list(Command& app, Run& run);
void add_sample(Command& app, Run& run);
void add_next(Command& app, Run& run);
void add_explore(Command& app, Run& run);
void add_compare(Command& app, Run& run);
void add_score(Command& app, Run& run);
void add_eval(Command& app, Run& run);
void add_embed(Command& app, Run& run);
void add_detect(Command& app, Run& run);
void add_grammar(Command& app, Run& run);

}  // namespace sotto::cli
