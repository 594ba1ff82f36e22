// What `sotto generate` was asked to do.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "capi/include/sotto.h"
#include "platforms/cli/model.h"

namespace sotto::cli {

struct GenerateOptions {
  ModelOptions model;
  std::string prompt;       // "-": standard input
  std::string prompt_file;  // empty: none
  int64_t token_limit = 128;  // -1: until a stop
  sotto_sampler_params sampler = default_sampler_params();
  sotto_session_params session = default_session_params();
  bool parse_special = false;
  bool log_probabilities = false;
  bool hide_prompt = false;
  bool quiet = false;
  bool json = false;
};

// `options` must live as long as `command`.
void add_generate_options(CLI::App& command, GenerateOptions& options);

const char* overflow_name(sotto_overflow overflow);

}  // namespace sotto::cli
