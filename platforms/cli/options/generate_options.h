// What `sotto generate` was asked to do.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "platforms/cli/options/draft_options.h"
#include "platforms/cli/options/grammar_options.h"
#include "platforms/cli/options/guide_options.h"
#include "platforms/cli/options/sampler_options.h"
#include "platforms/cli/options/search_options.h"
#include "platforms/cli/options/session_options.h"
#include "platforms/cli/options/stop_options.h"
#include "platforms/cli/support/model.h"

namespace sotto::cli {

struct GenerateOptions {
  ModelOptions model;
  std::string prompt;       // "-": standard input
  std::string prompt_file;  // empty: none
  bool has_prompt = false;
  int64_t token_limit = 128;  // -1: until a stop
  SamplerOptions sampler;
  StopOptions stops;
  SearchOptions search;
  GuideOptions guide;
  GrammarOptions grammar;
  DraftOptions drafts;
  StateOptions state;
  sotto_session_params session = default_session_params();
  bool parse_special = false;
  bool log_probabilities = false;
  uint32_t alternative_count = 0;
  bool scores_prompt = false;
  bool hide_prompt = false;
  bool quiet = false;
  bool json = false;
};

// `options` must live as long as `command`.
void add_generate_options(CLI::App& command, GenerateOptions& options);

// After parsing: what the options mean together. Throws usage errors.
void settle_generate_options(const CLI::App& command, GenerateOptions& options);

// What only a model can read: texts that stand for tokens, and the memory they need.
void read_generate_texts(GenerateOptions& options, const Model& model);

}  // namespace sotto::cli
