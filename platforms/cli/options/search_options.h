// The options of searches: several continuations of one prompt at once.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "platforms/cli/options/sampler_settings.h"
#include "platforms/cli/support/json_values.h"
#include "platforms/cli/support/model.h"

namespace sotto::cli {

constexpr char kSearchGroup[] = "Several sequences";

struct SearchOptions {
  sotto_search_params params;  // its pointers and their counts stay empty
  uint32_t beam_count = 1;
  uint32_t return_count = 1;
  uint32_t best_of = 0;
  float penalty_alpha = 0.0f;
  bool do_sample = true;
  std::vector<std::string> phrase_words;  // as given
  std::vector<Tokens> phrases;
  std::vector<uint32_t> phrase_groups;
  bool is_on = false;  // otherwise one text is streamed

  SearchOptions();
};

// `options` must live as long as `command`.
void add_search_options(CLI::App& command, SearchOptions& options);

// After parsing: finds the kind of search and what it needs of the session, switches what it
// does not use of the sampler off, and refuses what makes no sense.
void settle_search_options(const CLI::App& command, int64_t token_limit, SearchOptions& options,
                           sotto_sampler_params& sampler, sotto_session_params& session);
void read_search_texts(SearchOptions& options, const Model& model);

Json search_json(const SearchOptions& options);

}  // namespace sotto::cli
