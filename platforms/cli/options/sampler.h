// The parameters of the sampler and of watermarks as options and as JSON.
#pragma once

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
  std::vector<std::string> allowed;
  std::vector<std::string> suppressed;
  std::vector<std::string> begin_suppressed;
  std::vector<std::string> dry_breakers;
  std::vector<std::string> dry_breaker_tokens;
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

// `params` must outlive `command`.
void add_watermark_options(Command& command, WatermarkParams& params);

// Throws a UsageError for an option that the scheme does not use.
void validate_watermark_options(const Command& command, const WatermarkParams& params);

// Returns whether the temperature is always 0, also with --temp-range.
bool is_greedy_temperature(const SamplerParams& params);

// The stages that `params` turn on, in their order, without the temperature if it is 0.
struct Stage {
  const char* name;
  SamplerParams params;  // the parameters with only the stages up to this one, and without a selection
};
std::vector<Stage> stages_of(const SamplerParams& params);

// Returns the parameters with all stages off, and with the selection MULTINOMIAL.
SamplerParams without_stages(SamplerParams params);

// Returns the value of list_bytes for lists of `size` bytes, including the library's bookkeeping.
uint32_t list_capacity(uint64_t size);

// Returns an upper bound for the memory of the lists of `params`.
uint32_t list_bytes(const SamplerParams& params);

// Returns a JSON object with all parameters and all lists that are not empty, under the names of sotto_sampler_params.
Json sampler_json(const SamplerParams& params);
Json watermark_json(const WatermarkParams& params);

// Sets the parameters in `object`, by any of their names. Throws a Failure that names the parameter if its value is
// invalid, its name is unknown, or it does not affect the choice of a single token.
void read_sampler_json(const Json& object, SamplerParams& params);

}  // namespace sotto::cli
