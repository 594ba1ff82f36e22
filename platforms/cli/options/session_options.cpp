// The options of the session: threads, context, what happens when it is full, its state.
#include "platforms/cli/options/session_options.h"

#include <thread>

#include "platforms/cli/options/option_tools.h"

namespace sotto::cli {

void add_thread_option(CLI::App& command, sotto_session_params& params) {
  add_translated<uint32_t>(
      command, "-t,--threads",
      [&params](uint32_t count) {
        const unsigned cpus = std::thread::hardware_concurrency();
        params.thread_count = count != 0 ? count : cpus != 0 ? cpus : 1;
      },
      "Threads; 0: one for each CPU; the result stays the same", "N", std::to_string(params.thread_count))
      ->group(kSessionGroup);
}

void add_context_option(CLI::App& command, sotto_session_params& params) {
  add_value(command, "-c,--ctx,--num-ctx,--ctx-size", params.context_tokens, "Tokens the context holds", "N")
      ->default_str("the model's maximum")
      ->group(kSessionGroup);
}

void add_session_options(CLI::App& command, sotto_session_params& params) {
  add_thread_option(command, params);
  add_context_option(command, params);
  add_value(command, "-b,--batch,--batch-size", params.batch_tokens, "Prompt tokens evaluated at once", "N")
      ->group(kSessionGroup);
  add_choice(command, "--overflow", params.overflow,
             "When the context is full, stop, overwrite the oldest tokens or forget the older half", overflow_names())
      ->group(kSessionGroup);
  add_value(command, "--sinks,--num-keep", params.sink_tokens, "First tokens that ring and shift never forget", "N")
      ->default_str("4")
      ->group(kSessionGroup);
}

void add_state_options(CLI::App& command, StateOptions& options) {
  add_value(command, "--load-state", options.load,
            "Go on where --save-state ended; needs the same model, --ctx and --overflow, and for "
            "the same text the same options; a grammar begins anew, and a prompt is added",
            "FILE")
      ->check(file_name())
      ->group(kSessionGroup);
  add_value(command, "--save-state", options.save, "Write the session's state at the end", "FILE")
      ->check(file_name())
      ->group(kSessionGroup);
}

}  // namespace sotto::cli
