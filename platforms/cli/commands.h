// The subcommands: each adds its options and tells what to run once they are parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "platforms/cli/support/model.h"

namespace sotto::cli {

using Run = std::function<int()>;  // returns the exit code; throws Failure

// `run` is set when the subcommand was given.
void add_generate(CLI::App& app, Run& run);
void add_tokenize(CLI::App& app, Run& run);
void add_inspect(CLI::App& app, Run& run);
void add_sample(CLI::App& app, Run& run);
void add_score(CLI::App& app, Run& run);
void add_embed(CLI::App& app, Run& run);
void add_detect(CLI::App& app, Run& run);
void add_grammar(CLI::App& app, Run& run);

// -m and --isa, for every subcommand.
CLI::Option* add_model_option(CLI::App& command, ModelOptions& options);
CLI::Option* add_isa_option(CLI::App& command, ModelOptions& options);

// For subcommands that run the model: --isa, and --no-mmap, with which weights are copied.
void add_weight_options(CLI::App& command, ModelOptions& options);

}  // namespace sotto::cli
