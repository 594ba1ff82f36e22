// The options of the session: threads, context, what happens when it is full, its state.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "capi/include/sotto.h"

namespace sotto::cli {

constexpr char kSessionGroup[] = "Session";

// `params` must live as long as `command`.
void add_thread_option(CLI::App& command, sotto_session_params& params);
void add_context_option(CLI::App& command, sotto_session_params& params);
void add_session_options(CLI::App& command, sotto_session_params& params);

struct StateOptions {
  std::string load;  // paths; empty: none
  std::string save;
};

void add_state_options(CLI::App& command, StateOptions& options);

}  // namespace sotto::cli
