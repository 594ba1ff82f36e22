// The options that say when a text ends, and what never comes in it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "platforms/cli/options/sampler_settings.h"
#include "platforms/cli/support/json_values.h"
#include "platforms/cli/support/model.h"

namespace sotto::cli {

constexpr char kStopGroup[] = "Stops";

struct StopOptions {
  sotto_stop_params params;  // its pointers and their counts stay empty
  double max_seconds = 0.0;
  std::vector<std::string> stop_strings;
  std::vector<std::string> stop_words;  // tokens, as given
  std::vector<std::string> banned_strings;
  Tokens stop_tokens;
  bool heals = false;

  StopOptions();
  uint32_t list_bytes() const;
};

// `options` must live as long as `command`.
void add_stop_options(CLI::App& command, StopOptions& options);
void settle_stop_options(const CLI::App& command, StopOptions& options);
void read_stop_texts(StopOptions& options, const Model& model);

// Replaces the session's stops.
void set_stops(sotto_session* session, const StopOptions& options);

Json stops_json(const StopOptions& options);

}  // namespace sotto::cli
