// The options of `sotto generate` and their conversion to parameters of the library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/cli/options/common.h"
#include "platforms/cli/options/grammar.h"
#include "platforms/cli/options/sampler.h"
#include "platforms/cli/options/stops.h"

namespace sotto::cli {

// The options of a search for several continuations of one prompt.
struct SearchOptions {
  SearchParams params;
  uint32_t beam_count = 1;
  uint32_t return_count = 1;
  uint32_t best_of = 0;
  float penalty_alpha = 0.0f;
  bool do_sample = true;
  std::vector<std::string> phrases;  // as given on the command line
  bool is_on = false;                // if false, one text is streamed
};

// Options of the guide: a second session with a negative prompt or a weaker model.
struct GuideOptions {
  GuideParams params;
  std::string negative_prompt;
  std::string contrastive_model;  // path of the model

  GuideOptions() { params.mode = SOTTO_GUIDE_OFF; }
  bool is_on() const { return params.mode != SOTTO_GUIDE_OFF; }
};

// Options of speculative decoding.
struct DraftOptions {
  SpeculationParams params;          // without sources, only text that a grammar forces is drafted
  std::vector<std::string> sources;  // as given on the command line
  std::string model;                 // path of the draft model; empty for none
  uint32_t token_count = 7;

  DraftOptions() { params.sources = 0; }
  bool is_on() const { return params.sources != 0; }
};

struct GenerateOptions {
  ModelOptions model;
  std::string prompt;            // "-" means standard input
  std::string prompt_file;       // empty for none
  std::vector<std::string> ids;  // token ids of the prompt, as given
  bool has_prompt = false;
  int64_t token_limit = 128;         // -1 for no limit
  uint32_t max_length = 0;           // of the prompt and the new text; 0 if not given
  uint32_t min_length = 0;           // likewise
  bool finishes_by_default = false;  // a text under a grammar is complete within these tokens and the context
  SamplerOptions sampler;
  StopOptions stops;
  SearchOptions search;
  GuideOptions guide;
  GrammarOptions grammar;
  DraftOptions drafts;
  SessionParams session;
  std::string load_state;  // paths; empty for none
  std::string save_state;
  bool parse_special = false;
  bool has_escapes = false;
  bool heals = false;  // --token-healing
  bool log_probabilities = false;
  bool statistics = false;
  uint32_t alternative_count = 0;
  bool scores_prompt = false;
  bool hide_prompt = false;
  bool quiet = false;
  bool json = false;            // also set by the next two
  bool streams_json = false;    // --stream-json: also one JSON object per piece
  bool jsonl = false;           // one request per line of standard input
  uint32_t parallel_count = 1;  // number of these requests that are answered at the same time
};

// `options` must outlive `command`.
void add_generate_options(Command& command, GenerateOptions& options);

// Derives the parameters from the parsed options. Throws a UsageError for combinations that contradict each other.
void validate_generate_options(const Command& command, GenerateOptions& options);

// Changes options by the parameters of a request, before the options are validated. Throws a Failure.
void read_request_params(const Command& command, const Json& params, GenerateOptions& options);

// Derives the numbers of new tokens from --max-length and --min-length. Throws a Failure.
void limit_lengths(GenerateOptions& options, size_t prompt_size);

// Converts values that need the model: the texts of tokens, and the memory for their lists.
void read_generate_texts(GenerateOptions& options, const LoadedModel& model);

}  // namespace sotto::cli
