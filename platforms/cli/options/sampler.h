// The parameters of the sampler as options.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "platforms/cli/options/parameters.h"
#include "platforms/cli/support/model.h"

namespace sotto::cli {

struct SamplerOptions {
  SamplerParams params;
  WatermarkParams watermark;
  // Values as given, to be tokenized when the model is loaded.
  std::vector<std::string> logit_bias;
  std::vector<std::string> sequence_bias;
  std::vector<std::string> bad_words;
  std::vector<std::string> dry_breakers;
  std::map<std::string, std::vector<std::string>> token_lists;  // by the main spelling of the option
  std::string forced_prefix;
  TokenTexts tokens;
  bool has_seed = false;           // a seed was read by --params
  std::vector<std::string> given;  // parameters given as options or by a request, which no default may replace
};

// `options` must outlive `command`.
void add_sampler_options(Command& command, SamplerOptions& options);

// Derives the parameters from all options, after parsing. Notes on standard error name options without effect, unless
// --quiet or an option for JSON is given. Throws usage errors.
void validate_sampler_options(const Command& command, SamplerOptions& options);

// Fills the lists of `params` and, with --model-defaults, the values that the model recommends. Throws a Failure that
// names the option.
void read_sampler_texts(SamplerOptions& options, const LoadedModel& model);

// Returns the value of list_bytes for lists of `size` bytes, including the library's bookkeeping.
uint32_t list_capacity(uint64_t size);

// Returns an upper bound for the memory of the lists of `params`.
uint32_t list_bytes(const SamplerParams& params);

}  // namespace sotto::cli
