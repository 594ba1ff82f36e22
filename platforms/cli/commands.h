// The commands of the program. Each function adds the options of a command and stores the function that runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace sotto::cli {

using Run = std::function<int()>;  // returns the exit code; throws Failure

// These set `run` if the command was given.
void add_generate(CLI::App& app, Run& run);
void add_tokenize(CLI::App& app, Run& run);
void add_inspect(CLI::App& app, Run& run);
void add_sample(CLI::App& app, Run& run);
void add_score(CLI::App& app, Run& run);
void add_embed(CLI::App& app, Run& run);
void add_detect(CLI::App& app, Run& run);
void add_grammar(CLI::App& app, Run& run);

}  // namespace sotto::cli
