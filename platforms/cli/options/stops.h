// The options for stop conditions and banned strings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/cli/support/model.h"
#include "platforms/command_line/command_line.h"

namespace sotto::cli {

constexpr char kStopGroup[] = "Stops";

struct StopOptions {
  StopParams params;
  double max_seconds = 0.0;
  std::vector<std::string> stop_tokens;  // as given on the command line
};

// Adds --max-tokens, where -1 means no limit. `limit` must outlive `command`.
void add_token_limit(Command& command, int64_t& limit, const std::string& description);

// `options` must outlive `command`.
void add_stop_options(Command& command, StopOptions& options);

// Derives the parameters from all options, after parsing. Throws usage errors.
void validate_stop_options(StopOptions& options);

// Converts the texts of tokens.
void read_stop_texts(StopOptions& options, const LoadedModel& model);

// Returns an upper bound for the memory of the lists of `params`.
uint32_t list_bytes(const StopParams& params);

}  // namespace sotto::cli
