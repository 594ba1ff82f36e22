#include "platforms/cli/options/sampler.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>

#include "platforms/cli/options/chain.h"
#include "platforms/cli/options/token_lists.h"
#include "platforms/cli/options/watermark.h"
#include "platforms/cli/support/text.h"
#include "platforms/command_line/command_line.h"

namespace sotto::cli {
namespace {

constexpr char kSamplingGroup[] = "Sampling";
constexpr char kTruncationGroup[] = "Truncation";
constexpr char kRepetitionGroup[] = "Repetition";
constexpr char kSelectionGroup[] = "Selection";
constexpr char kBiasGroup[] = "Bans, bias and forcing";

// Returns a seed with few enough digits to be typed again.
uint64_t random_seed() { return std::random_device()(); }

uint64_t parse_seed(const std::string& text) {
  if (text == "random" || text == "-1") return random_seed();
  uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, seed);
  if (result.ec != std::errc() || result.ptr != end) {
    reject("--seed", '"' + text + "\" is neither a 64-bit number nor \"random\"");
  }
  return seed;
}

void add_group(Command& command, const char* group, SamplerOptions& options) {
  sotto_sampler_params& c_params = options.params;
  add_parameters(command, kSamplerParameters, &c_params, group, &options.tokens);
}

// Adds the options of the lists of tokens that belong to a group.
void add_token_lists(Command& command, const char* group, SamplerOptions& options) {
  for (const TokenListParam& param : kTokenLists) {
    if (param.option == nullptr || std::string_view(param.group) != group) continue;
    add_texts(command, param.option, options.token_lists[param.main_option()], param.help, "TOKENS")
        .needs(param.needs)
        .group(group);
  }
}

void add_sampling(Command& command, SamplerOptions& options) {
  SamplerParams& params = options.params;
  add_group(command, kSamplingGroup, options);
  command
      .add_flag(
          "--greedy", [&params] { params.temperature = 0.0f; }, "The same as --temp 0")
      .excludes("--temp-range")
      .replaces("--temp")
      .group(kSamplingGroup);
  command
      .add_option(
          "-s,--seed", [&params](const std::string& text) { params.seed = parse_seed(text); },
          "Seed of the random numbers; the same seed gives the same text; the report ends with the seed that was used")
      .metavar("N")
      .shown_default("random")
      .group(kSamplingGroup);
}

void add_repetition(Command& command, SamplerOptions& options) {
  add_group(command, kRepetitionGroup, options);
  add_texts(command, "--dry-breaker,--dry-sequence-breaker", options.dry_breakers,
            "DRY: repetitions end at tokens that contain TEXT; \"none\": at no token [line end, :, \", *]")
      .needs("--dry-multiplier")
      .group(kRepetitionGroup);
  add_token_lists(command, kRepetitionGroup, options);
}

void set_stages(const std::string& list, std::vector<sotto_stage>& stages) {
  stages.clear();
  std::string names = list;
  std::replace(names.begin(), names.end(), ';', ',');
  for (const std::string& name : split_names(names)) {
    if (!append_stages(name, stages)) reject("--stages", '"' + name + "\" is not one of " + listed(kStageNames));
  }
  if (stages.empty()) reject("--stages", "is empty; it must contain at least one stage");
}

void add_selection(Command& command, SamplerOptions& options) {
  add_group(command, kSelectionGroup, options);
  SamplerParams& params = options.params;
  const auto read = [&params](const std::string& text) {
    if (set_mirostat(parse_number<uint32_t>("--mirostat", text), params)) return;
    reject("--mirostat", "is " + text + "; it must be 0, 1 or 2");
  };
  command
      .add_option("--mirostat", read,
                  "Mirostat 1 or 2, as --selection mirostat or mirostat_v2; disables truncations that are not given")
      .metavar("N")
      .shown_default("0")
      .excludes("--selection,--adaptive-p,--greedy")
      .group(kSelectionGroup);
  command
      .add_option(
          "--stages,--samplers", [&params](const std::string& list) { set_stages(list, params.stages); },
          "Run exactly these stages in this order, separated by commas or semicolons: " + listed(kStageNames))
      .metavar("NAMES")
      .excludes("--order")
      .group(kSelectionGroup);
}

void add_bias(Command& command, SamplerOptions& options) {
  const auto add = [&](const char* names, std::vector<std::string>& texts, const char* description,
                       const char* metavar) {
    add_texts(command, names, texts, description, metavar).group(kBiasGroup);
  };
  add("--logit-bias", options.logit_bias,
      "Add BIAS to the logit of TOKEN, an id or the text of one token; -inf bans it; also a JSON object", "TOKEN=BIAS");
  add("--sequence-bias", options.sequence_bias,
      "Add BIAS to the logit of the last token of TEXT after its other tokens", "TEXT=BIAS");
  add("--bad-word,--bad-words", options.bad_words,
      "Never generate the tokens of TEXT in a row, with or without a space before it; --banned-string bans the text in "
      "any tokenization",
      "TEXT");
  add_token_lists(command, kBiasGroup, options);
  add_value(command, "--force-prefix,--forced-prefix", options.forced_prefix, "Begin the generated text with TEXT",
            "TEXT")
      .group(kBiasGroup);
  add_group(command, kBiasGroup, options);
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Disables stages that are on by default but conflict with --mirostat or are missing from --stages.
void disable_replaced_defaults(const Command& command, SamplerOptions& options) {
  SamplerParams& params = options.params;
  const bool mirostat = params.selection == SOTTO_SELECT_MIROSTAT || params.selection == SOTTO_SELECT_MIROSTAT_V2;
  visit_default_stages([&](const char* name, auto member, auto off, sotto_stage stage) {
    const Parameter& parameter = *find_parameter(kSamplerParameters, name);
    if (is_given(command, parameter.option()) || contains(options.given, name)) return;
    if (stage == SOTTO_STAGE_TEMPERATURE && is_given(command, "--greedy")) return;
    const std::vector<sotto_stage>& stages = params.stages;
    const bool is_replaced = !stages.empty() && std::find(stages.begin(), stages.end(), stage) == stages.end();
    const bool is_truncation = std::string_view(parameter.group) == kTruncationGroup;
    if (is_replaced || (mirostat && is_truncation)) params.*member = off;
  });
}

void validate_selection(const Command& command, SamplerParams& params) {
  const Option& temperature = *command.find("--temp");
  const bool is_zero = temperature.is_given() && parse_number<float>("--temp", temperature.given().front()) == 0.0f;
  if (!is_zero) reject_with(command, "--greedy", {"--temp"});
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

// Prints a note for truncations that cannot change the choice: if only the most likely token can be selected, those
// that keep it. Others, such as typical_p, may drop it.
void note_unused_truncations(const Command& command, const SamplerParams& params) {
  const bool is_greedy = is_greedy_temperature(params) || params.selection == SOTTO_SELECT_GREEDY;
  if (!is_greedy && params.top_k != 1) return;
  if (!first_given(command, {"--quiet", "--json", "--stream-json", "--jsonl"}).empty()) return;
  for (const char* option : kLikelyTruncations) {
    if (!is_given(command, option) || (!is_greedy && std::string_view(option) == "--top-k")) continue;
    std::fprintf(stderr, "sotto: note: %s has no effect %s, which selects the most likely token\n", option,
                 is_greedy ? "without sampling" : "with --top-k 1");
  }
}

struct Bias {
  std::string tokens;
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

// Splits "TOKENS=BIAS". Also accepts llama.cpp's form for ids, "15043+1" and "15043-1".
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
  const std::optional<Json> object = try_parse_json(text);
  if (!object || !object->is_object()) throw Failure("--logit-bias: " + text + " is not a JSON object", kExitUsage);
  for (const auto& [word, value] : object->members()) {
    if (!value.is_number() && value != "-inf" && value != false) {
      throw Failure("--logit-bias: the bias of " + in_quotes(word) + " is not a number", kExitUsage);
    }
    const float bias = value.is_number() ? static_cast<float>(value.number()) : -INFINITY;
    list.push_back({reader.token(word, "--logit-bias"), bias});
  }
}

void read_biases(const SamplerOptions& options, const TokenReader& reader, SamplerParams& params) {
  for (const std::string& word : options.logit_bias) {
    if (word.starts_with('{')) {
      read_bias_object(word, reader, params.logit_bias);
      continue;
    }
    const Bias bias = split_bias(word, "--logit-bias");
    params.logit_bias.push_back({reader.token(bias.tokens, "--logit-bias"), bias.value});
  }
  for (const std::string& word : options.sequence_bias) {
    const Bias bias = split_bias(word, "--sequence-bias");
    for (TokenList& tokens : reader.variants(bias.tokens, "--sequence-bias")) {
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

// Applies the recommended values. The library cannot do this: it cannot tell an option with the default value from an
// option that was not given.
void read_model_defaults(SamplerOptions& options, const ModelInfo& info) {
  const SamplerParams fallback;
  SamplerParams& params = options.params;
  visit_recommended([&](const char* name, auto parameter, auto recommended) {
    if (!contains(options.given, name) && params.*parameter == fallback.*parameter)
      params.*parameter = info.*recommended;
  });
  params.model_defaults = 0;
}

}  // namespace

uint32_t list_capacity(uint64_t size) {
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(2 * size, SessionParams().list_bytes, SessionLimits::kMaxListBytes));
}

uint32_t list_bytes(const SamplerParams& params) {
  constexpr uint64_t kEntryBytes = 64;  // bytes of the library's bookkeeping, rounded up
  uint64_t size = kEntryBytes * (params.stages.size() + params.logit_bias.size());
  const auto add_tokens = [&size](const TokenList& tokens) { size += kEntryBytes + tokens.size() * sizeof(Token); };
  for (const TokenListParam& param : kTokenLists) add_tokens(params.*param.list);
  for (const SequenceBias& entry : params.sequence_bias) add_tokens(entry.tokens);
  for (const TokenList& word : params.bad_words) add_tokens(word);
  if (params.dry_breakers) {
    for (const std::string& text : *params.dry_breakers) size += kEntryBytes + text.size();
  }
  return list_capacity(size);
}

void add_sampler_options(Command& command, SamplerOptions& options) {
  add_sampling(command, options);
  add_group(command, kTruncationGroup, options);
  add_repetition(command, options);
  add_selection(command, options);
  add_bias(command, options);
  add_watermark_options(command, options.watermark);
}

void validate_sampler_options(const Command& command, SamplerOptions& options) {
  validate_watermark_options(command, options.watermark);
  if (options.watermark.scheme != SOTTO_WATERMARK_NONE) options.params.watermark = options.watermark;
  if (!is_given(command, "--seed") && !options.has_seed) options.params.seed = random_seed();
  validate_selection(command, options.params);
  disable_replaced_defaults(command, options);
  visit_recommended([&](const char* name, auto, auto) {
    const std::string option = find_parameter(kSamplerParameters, name)->option();
    if (is_given(command, option.c_str())) options.given.emplace_back(name);
  });
  note_unused_truncations(command, options.params);
}

void read_sampler_texts(SamplerOptions& options, const LoadedModel& model) {
  const TokenReader reader(model);
  SamplerParams& params = options.params;
  read_biases(options, reader, params);
  for (const std::string& word : options.bad_words) {
    for (TokenList& tokens : reader.variants(word, "--bad-word")) params.bad_words.push_back(std::move(tokens));
  }
  for (const TokenListParam& param : kTokenLists) {
    if (param.option == nullptr) continue;
    const std::string option = param.main_option();
    const std::vector<std::string>& texts = options.token_lists[option];
    if (!texts.empty()) params.*param.list = reader.all(texts, option.c_str());
  }
  if (!options.forced_prefix.empty()) params.forced_prefix = reader.tokens(options.forced_prefix, "--force-prefix");
  sotto_sampler_params& c_params = params;
  for (const auto& [parameter, text] : options.tokens) {
    member<int32_t>(*parameter, &c_params) = reader.token(text, parameter->option().c_str());
  }
  read_breakers(options, params);
  if (params.model_defaults != 0) read_model_defaults(options, model.info());
}

}  // namespace sotto::cli
