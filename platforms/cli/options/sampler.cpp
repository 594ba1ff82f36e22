#include "platforms/cli/options/sampler.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>

#include "platforms/cli/options/cli11.h"
#include "platforms/cli/support/text.h"
#include "platforms/cli/support/tokens.h"

namespace sotto::cli {
namespace {

constexpr char kSamplingGroup[] = "Sampling";
constexpr char kTruncationGroup[] = "Truncation";
constexpr char kRepetitionGroup[] = "Repetition";
constexpr char kSelectionGroup[] = "Selection";
constexpr char kBiasGroup[] = "Bans, bias and forcing";

uint64_t parse_seed(const std::string& text) {
  if (text == "random" || text == "-1") {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  }
  uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, seed);
  if (result.ec != std::errc() || result.ptr != end) {
    reject("--seed", '"' + text + "\" is neither a 64-bit number nor \"random\"");
  }
  return seed;
}

void add_group(CLI::App& command, const char* group, SamplerOptions& options) {
  sotto_sampler_params& c_params = options.params;
  add_parameters(command, kSamplerParameters, &c_params, group, &options.tokens);
}

void add_sampling(CLI::App& command, SamplerOptions& options) {
  SamplerParams& params = options.params;
  add_group(command, kSamplingGroup, options);
  command
      .add_flag_callback(
          "--greedy", [&params] { params.temperature = 0.0f; }, "The same as --temp 0")
      ->group(kSamplingGroup);
  add_translated<std::string>(
      command, "-s,--seed", [&params](const std::string& text) { params.seed = parse_seed(text); },
      "The same seed gives the same text; \"random\": a different text each time", "N", std::to_string(params.seed))
      ->group(kSamplingGroup);
}

void add_repetition(CLI::App& command, SamplerOptions& options) {
  add_group(command, kRepetitionGroup, options);
  add_texts(command, "--dry-breaker,--dry-sequence-breaker", options.dry_breakers,
            "DRY: repetitions end at tokens that contain TEXT; \"none\": at no text [line end, :, \", *]")
      ->group(kRepetitionGroup);
  add_texts(command, "--dry-breaker-token", options.dry_breaker_tokens,
            "DRY: repetitions end at these tokens (ids or text)", "TOKENS")
      ->group(kRepetitionGroup);
}

void set_stages(const std::string& list, std::vector<sotto_stage>& stages) {
  stages.clear();
  for (const std::string& name : split_names(list)) {
    if (name == "penalties") {
      stages.insert(stages.end(), {SOTTO_STAGE_REPETITION, SOTTO_STAGE_FREQUENCY, SOTTO_STAGE_PRESENCE});
      continue;
    }
    const std::optional<int32_t> stage = find_value(kStageNames, name);
    if (!stage) reject("--stages", '"' + name + "\" is not one of " + listed(kStageNames));
    stages.push_back(*stage);
  }
  if (stages.empty()) reject("--stages", "names no stage");
}

constexpr sotto_selection kMirostatVersions[] = {SOTTO_SELECT_MULTINOMIAL, SOTTO_SELECT_MIROSTAT,
                                                 SOTTO_SELECT_MIROSTAT_V2};

void add_selection(CLI::App& command, SamplerOptions& options) {
  add_group(command, kSelectionGroup, options);
  SamplerParams& params = options.params;
  add_translated<uint32_t>(
      command, "--mirostat",
      [&params](uint32_t version) {
        if (version > 2) reject("--mirostat", "is " + std::to_string(version) + "; it must be 0, 1 or 2");
        params.selection = kMirostatVersions[version];
      },
      "Mirostat 1 or 2, as --selection mirostat or mirostat_v2; truncations that are not given are off", "N", "0")
      ->group(kSelectionGroup);
  add_translated<std::string>(
      command, "--stages,--samplers", [&params](const std::string& list) { set_stages(list, params.stages); },
      "Exactly these stages in this order, between commas: " + listed(kStageNames), "NAMES", "")
      ->group(kSelectionGroup);
}

void add_bias(CLI::App& command, SamplerOptions& options) {
  const auto add = [&](const char* names, std::vector<std::string>& texts, const char* description,
                       const char* metavar) {
    add_texts(command, names, texts, description, metavar)->group(kBiasGroup);
  };
  add("--logit-bias", options.logit_bias,
      "Add BIAS to the logit of TOKEN, an id or the text of one token; -inf bans it; also a JSON object", "TOKEN=BIAS");
  add("--sequence-bias", options.sequence_bias,
      "Add BIAS to the logit of the last token of TEXT after its other tokens", "TEXT=BIAS");
  add("--bad-word,--bad-words", options.bad_words,
      "Never generate all tokens of TEXT in a row, with or without a space before it (for the text in any tokens: "
      "--banned-string)",
      "TEXT");
  add("--allowed-tokens,--allowed-token-ids", options.allowed, "Only these tokens (ids, or the tokens of a text)",
      "TOKENS");
  add("--suppress-tokens,--suppressed-tokens", options.suppressed, "Never these tokens", "TOKENS");
  add("--begin-suppress-tokens,--begin-suppressed-tokens", options.begin_suppressed,
      "Not these as the first generated token", "TOKENS");
  add_value(command, "--force-prefix,--forced-prefix", options.forced_prefix, "The generated text begins with TEXT",
            "TEXT")
      ->group(kBiasGroup);
  add_group(command, kBiasGroup, options);
}

// Disables defaults that --mirostat or --stages replace.
void switch_replaced_defaults_off(const CLI::App& command, SamplerParams& params) {
  const bool mirostat = params.selection == SOTTO_SELECT_MIROSTAT || params.selection == SOTTO_SELECT_MIROSTAT_V2;
  const auto is_off = [&](const char* option, sotto_stage stage, bool is_truncation) {
    if (is_given(command, option)) return false;
    if (mirostat && is_truncation) return true;
    const auto& stages = params.stages;
    return !stages.empty() && std::find(stages.begin(), stages.end(), stage) == stages.end();
  };
  if (is_off("--top-k", SOTTO_STAGE_TOP_K, true)) params.top_k = 0;
  if (is_off("--top-p", SOTTO_STAGE_TOP_P, true)) params.top_p = 1.0f;
  if (is_off("--min-p", SOTTO_STAGE_MIN_P, true)) params.min_p = 0.0f;
  if (is_off("--temp", SOTTO_STAGE_TEMPERATURE, false) && !is_given(command, "--greedy")) {
    params.temperature = 1.0f;
  }
}

void validate_selection(const CLI::App& command, SamplerParams& params) {
  reject_with(command, "--mirostat", {"--selection", "--adaptive-p", "--greedy"});
  reject_with(command, "--greedy", {"--temp", "--temp-range"});
  if (is_given(command, "--adaptive-p") && params.adaptive_target >= 0.0f) {
    if (!is_given(command, "--selection")) params.selection = SOTTO_SELECT_ADAPTIVE_P;
    if (params.selection != SOTTO_SELECT_ADAPTIVE_P) reject_with(command, "--adaptive-p", {"--selection"});
  }
  const bool first = params.selection == SOTTO_SELECT_MIROSTAT;
  const bool second = params.selection == SOTTO_SELECT_MIROSTAT_V2;
  if ((first || second) && is_greedy_temperature(params)) {
    reject("--temp", "is 0, which selects the most likely token; Mirostat needs a temperature above 0");
  }
  const std::string unused = !first && !second ? first_given(command, {"--mirostat-tau", "--mirostat-eta"}) : "";
  if (!unused.empty()) reject(unused, "has no effect without --mirostat 1 or 2");
  if (!first && is_given(command, "--mirostat-m")) reject("--mirostat-m", "has no effect without --mirostat 1");
}

struct Bias {
  std::string what;
  float value;
};

std::optional<float> parse_bias(std::string_view text) {
  if (text == "-inf" || text == "false") return -INFINITY;
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  float value = 0.0f;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// Splits "what=bias", and for ids also llama.cpp's "15043+1" and "15043-1".
Bias split_bias(const std::string& word, const char* option) {
  size_t split = word.rfind('=');
  size_t begin = split + 1;
  if (split == std::string::npos) split = begin = word.find_first_not_of("0123456789");
  if (split != std::string::npos && split > 0) {
    if (const auto value = parse_bias(std::string_view(word).substr(begin))) {
      return {word.substr(0, split), *value};
    }
  }
  throw Failure(std::string(option) + ": " + in_quotes(word) + " does not end with = and a number or -inf", kExitUsage);
}

// Reads {"50256": -100, " the": 2}, as in the OpenAI API.
void read_bias_object(const std::string& text, const TokenReader& reader, std::vector<TokenBias>& list) {
  const auto object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) throw Failure("--logit-bias: " + text + " is not a JSON object", kExitUsage);
  for (const auto& [what, value] : object.items()) {
    if (!value.is_number() && value != "-inf" && value != false) {
      throw Failure("--logit-bias: the bias of " + in_quotes(what) + " is not a number", kExitUsage);
    }
    const float bias = value.is_number() ? value.get<float>() : -INFINITY;
    list.push_back({reader.token(what, "--logit-bias"), bias});
  }
}

void read_biases(const SamplerOptions& options, const TokenReader& reader, SamplerParams& params) {
  for (const std::string& word : options.logit_bias) {
    if (word.starts_with('{')) {
      read_bias_object(word, reader, params.logit_bias);
      continue;
    }
    const Bias bias = split_bias(word, "--logit-bias");
    params.logit_bias.push_back({reader.token(bias.what, "--logit-bias"), bias.value});
  }
  for (const std::string& word : options.sequence_bias) {
    const Bias bias = split_bias(word, "--sequence-bias");
    for (TokenList& tokens : reader.variants(bias.what, "--sequence-bias")) {
      params.sequence_bias.push_back({std::move(tokens), bias.value});
    }
  }
}

void read_breakers(const SamplerOptions& options, SamplerParams& params) {
  if (options.dry_breakers.empty()) return;
  auto& breakers = params.dry_breakers.emplace();
  for (const std::string& word : options.dry_breakers) {
    if (word == "none") {
      breakers.clear();
    } else {
      breakers.push_back(unquoted(word, "--dry-breaker"));
    }
  }
}

}  // namespace

bool is_greedy_temperature(const SamplerParams& params) {
  return params.temperature == 0.0f && params.temperature_range == 0.0f;
}

uint32_t list_bytes(const SamplerParams& params) {
  constexpr uint64_t kEntryBytes = 64;  // bytes of the library's bookkeeping, rounded up
  constexpr uint64_t kLeast = 16384;
  constexpr uint64_t kMost = uint64_t{1} << 24;
  uint64_t size = kEntryBytes * (params.stages.size() + params.logit_bias.size());
  const auto add_tokens = [&size](const TokenList& tokens) { size += kEntryBytes + tokens.size() * sizeof(Token); };
  for (const TokenList* tokens : {&params.allowed_tokens, &params.suppressed_tokens, &params.begin_suppressed_tokens,
                                  &params.forced_prefix, &params.dry_breaker_tokens}) {
    add_tokens(*tokens);
  }
  for (const SequenceBias& entry : params.sequence_bias) add_tokens(entry.tokens);
  for (const TokenList& word : params.bad_words) add_tokens(word);
  if (params.dry_breakers) {
    for (const std::string& text : *params.dry_breakers) size += kEntryBytes + text.size();
  }
  return static_cast<uint32_t>(std::clamp(2 * size, kLeast, kMost));
}

void add_sampler_options(CLI::App& command, SamplerOptions& options) {
  add_sampling(command, options);
  add_group(command, kTruncationGroup, options);
  add_repetition(command, options);
  add_selection(command, options);
  add_bias(command, options);
  add_watermark_options(command, options.watermark);
}

void validate_sampler_options(const CLI::App& command, SamplerOptions& options) {
  require_needed_options(command, kSamplerParameters);
  require_with(command, "--dry-breaker", {"--dry-multiplier"});
  require_with(command, "--dry-breaker-token", {"--dry-multiplier"});
  reject_with(command, "--stages", {"--order"});
  validate_watermark_options(command, options.watermark);
  if (options.watermark.scheme != SOTTO_WATERMARK_NONE) options.params.watermark = options.watermark;
  validate_selection(command, options.params);
  switch_replaced_defaults_off(command, options.params);
}

void read_sampler_texts(SamplerOptions& options, const LoadedModel& model) {
  const TokenReader reader(model);
  SamplerParams& params = options.params;
  read_biases(options, reader, params);
  for (const std::string& word : options.bad_words) {
    for (TokenList& tokens : reader.variants(word, "--bad-word")) params.bad_words.push_back(std::move(tokens));
  }
  params.allowed_tokens = reader.all(options.allowed, "--allowed-tokens");
  params.suppressed_tokens = reader.all(options.suppressed, "--suppress-tokens");
  params.begin_suppressed_tokens = reader.all(options.begin_suppressed, "--begin-suppress-tokens");
  params.dry_breaker_tokens = reader.all(options.dry_breaker_tokens, "--dry-breaker-token");
  if (!options.forced_prefix.empty()) params.forced_prefix = reader.tokens(options.forced_prefix, "--force-prefix");
  sotto_sampler_params& c_params = params;
  for (const auto& [parameter, text] : options.tokens) {
    member<int32_t>(*parameter, &c_params) = reader.token(text, parameter->option().c_str());
  }
  read_breakers(options, params);
}

void add_watermark_options(CLI::App& command, WatermarkParams& params) {
  sotto_watermark_params& c_params = params;
  add_parameters(command, kWatermarkParameters, &c_params);
}

void validate_watermark_options(const CLI::App& command, const WatermarkParams& params) {
  const auto require_scheme = [&](bool has_scheme, const char* option, const char* schemes) {
    if (!has_scheme && is_given(command, option)) {
      reject(option, std::string("has no effect without --watermark ") + schemes);
    }
  };
  const bool is_green = params.scheme == SOTTO_WATERMARK_LEFT_HASH || params.scheme == SOTTO_WATERMARK_SELF_HASH;
  const bool is_on = params.scheme != SOTTO_WATERMARK_NONE;
  require_scheme(is_green, "--watermark-gamma", "lefthash or selfhash");
  require_scheme(is_green, "--watermark-delta", "lefthash or selfhash");
  require_scheme(params.scheme == SOTTO_WATERMARK_TOURNAMENT, "--watermark-layers", "tournament");
  require_scheme(is_on, "--watermark-key", "SCHEME");
  require_scheme(is_on, "--watermark-context", "SCHEME");
}

}  // namespace sotto::cli
