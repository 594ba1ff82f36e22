// The options of `sotto generate`, from the command line to what the library takes.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "platforms/cli/options/common.h"
#include "platforms/cli/options/grammar.h"
#include "platforms/cli/options/sampler.h"

namespace sotto::cli {

// When a text ends, and what it never contains.
struct StopOptions {
  StopParams params;
  double max_seconds = 0.0;
  std::vector<std::string> stop_tokens;  // as given
  bool heals = false;
};

// Several continuations of one prompt at once.
struct SearchOptions {
  SearchParams params;
  uint32_t beam_count = 1;
  uint32_t return_count = 1;
  uint32_t best_of = 0;
  float penalty_alpha = 0.0f;
  bool do_sample = true;
  std::vector<std::string> phrases;  // as given
  bool is_on = false;                // otherwise one text is streamed
};

// A second session that guides the first: a negative prompt, or a weaker model.
struct GuideOptions {
  GuideParams params;
  std::string negative_prompt;
  std::string contrastive_model;  // a path

  GuideOptions() { params.mode = SOTTO_GUIDE_OFF; }
  bool is_on() const { return params.mode != SOTTO_GUIDE_OFF; }
};

// Speculative decoding: where drafts come from.
struct DraftOptions {
  SpeculationParams params;          // sources 0: only what a grammar forces
  std::vector<std::string> sources;  // as given
  std::string model;                 // path of a model that drafts; empty: none
  uint32_t token_count = 7;

  DraftOptions() { params.sources = 0; }
  bool is_on() const { return params.sources != 0; }
};

struct GenerateOptions {
  ModelOptions model;
  std::string prompt;            // "-": standard input
  std::string prompt_file;       // empty: none
  std::vector<std::string> ids;  // of the prompt, as given
  bool has_prompt = false;
  int64_t token_limit = 128;  // -1: until a stop
  SamplerOptions sampler;
  StopOptions stops;
  SearchOptions search;
  GuideOptions guide;
  GrammarOptions grammar;
  DraftOptions drafts;
  SessionParams session;
  std::string load_state;  // paths; empty: none
  std::string save_state;
  bool parse_special = false;
  bool log_probabilities = false;
  uint32_t alternative_count = 0;
  bool scores_prompt = false;
  bool hide_prompt = false;
  bool quiet = false;
  bool json = false;
};

// `options` must outlive `command`.
void add_generate_options(CLI::App& command, GenerateOptions& options);

// After parsing: derives what the options mean together. Throws usage errors.
void validate_generate_options(const CLI::App& command, GenerateOptions& options);

// Reads what only a model can read: texts that stand for tokens, and the memory they need.
void read_generate_texts(GenerateOptions& options, const LoadedModel& model);

// A session that can guide another with `prompt`.
Session new_guide(const GenerateOptions& options, const LoadedModel& model, const TokenList& prompt);

// Makes `session` speculate.
void attach_drafts(Session& session, const GenerateOptions& options);

Json stops_json(const StopOptions& options);
Json search_json(const SearchParams& params);
Json guide_json(const GuideOptions& options);
Json draft_json(const DraftOptions& options);
Json speculation_json(const SpeculationInfo& info);

}  // namespace sotto::cli
