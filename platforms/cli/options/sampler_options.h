// The options of the sampler: one for each of its parameters.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "platforms/cli/options/sampler_fields.h"
#include "platforms/cli/options/sampler_settings.h"
#include "platforms/cli/support/model.h"

namespace sotto::cli {

struct SamplerOptions {
  SamplerSettings settings;
  // As given, until there is a model to tokenize them.
  std::vector<std::string> logit_bias;
  std::vector<std::string> sequence_bias;
  std::vector<std::string> bad_words;
  std::vector<std::string> allowed;
  std::vector<std::string> suppressed;
  std::vector<std::string> begin_suppressed;
  std::vector<std::string> dry_breakers;
  std::vector<std::string> dry_breaker_tokens;
  std::vector<std::pair<const SamplerField*, std::string>> tokens;
  std::string forced_prefix;
};

// `options` must live as long as `command`.
void add_sampler_options(CLI::App& command, SamplerOptions& options);

// After parsing: settles what options mean together, and refuses what makes no sense.
void settle_sampler_options(const CLI::App& command, SamplerOptions& options);

// Fills the lists of `settings`. Throws a Failure naming the option.
void read_sampler_texts(SamplerOptions& options, const Model& model);

// The temperature is 0, whatever the entropy.
bool is_cold(const sotto_sampler_params& params);

uint64_t parse_seed(const std::string& text);

}  // namespace sotto::cli
