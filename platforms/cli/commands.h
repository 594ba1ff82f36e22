// The subcommands: each adds its options and tells what to run once they are parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "platforms/cli/model.h"

namespace sotto::cli {

using Run = std::function<int()>;  // returns the exit code; throws Failure

// `run` is set when the subcommand was given.
void add_generate(CLI::App& app, Run& run);
void add_tokenize(CLI::App& app, Run& run);
void add_inspect(CLI::App& app, Run& run);

// -m and --isa, for every subcommand.
void add_model_option(CLI::App& command, ModelOptions& options);
void add_isa_option(CLI::App& command, ModelOptions& options);

}  // namespace sotto::cli
