#include "platforms/cli/options/sampler.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>

#include "platforms/cli/support/model.h"
#include "platforms/cli/support/text.h"
#include "platforms/command_line/command_line.h"

namespace sotto::cli {
namespace {

#include "platforms/cli/generated/stages.inc"

constexpr char kSamplingGroup[] = "Sampling";
constexpr char kTruncationGroup[] = "Truncation";
constexpr char kRepetitionGroup[] = "Repetition";
constexpr char kSelectionGroup[] = "Selection";
constexpr char kBiasGroup[] = "Bans, bias and forcing";

// A list of tokens. To add one, add a row here and its texts to SamplerOptions.
struct TokenListParam {
  const char* names;  // in JSON, the library's first
  TokenList SamplerParams::*list;
  // The option, whose values are ids or texts. Null if it is read in another way.
  const char* option;
  std::vector<std::string> SamplerOptions::*texts;
  const char* group;
  const char* description;
  const char* needs = nullptr;  // another option
};
constexpr TokenListParam kTokenLists[] = {
    {"allowed_tokens,allowed_token_ids", &SamplerParams::allowed_tokens, "--allowed-tokens,--allowed-token-ids",
     &SamplerOptions::allowed, kBiasGroup, "Generate only these tokens (ids, or the tokens of a text)"},
    {"suppressed_tokens,suppress_tokens", &SamplerParams::suppressed_tokens, "--suppress-tokens,--suppressed-tokens",
     &SamplerOptions::suppressed, kBiasGroup, "Never generate these tokens"},
    {"begin_suppressed_tokens,begin_suppress_tokens", &SamplerParams::begin_suppressed_tokens,
     "--begin-suppress-tokens,--begin-suppressed-tokens", &SamplerOptions::begin_suppressed, kBiasGroup,
     "Never generate these as the first token"},
    {"forced_prefix,force_prefix", &SamplerParams::forced_prefix, nullptr, nullptr, kBiasGroup, nullptr},
    {"dry_breaker_tokens,dry_breaker_token", &SamplerParams::dry_breaker_tokens, "--dry-breaker-token",
     &SamplerOptions::dry_breaker_tokens, kRepetitionGroup, "DRY: repetitions end at these tokens (ids or text)",
     "--dry-multiplier"}};

// Sets the selection of --mirostat N and of "mirostat": N. Returns false for other versions.
bool set_mirostat(uint32_t version, SamplerParams& params) {
  constexpr sotto_selection kVersions[] = {SOTTO_SELECT_MULTINOMIAL, SOTTO_SELECT_MIROSTAT, SOTTO_SELECT_MIROSTAT_V2};
  if (version >= std::size(kVersions)) return false;
  params.selection = kVersions[version];
  return true;
}

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
    if (param.option == nullptr || param.group != group) continue;
    Option& option = add_texts(command, param.option, options.*param.texts, param.description, "TOKENS");
    option.group(group);
    if (param.needs != nullptr) option.needs(param.needs);
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

// Appends the stage or stages with this name. Returns false if there are none.
bool append_stages(const std::string& name, std::vector<sotto_stage>& stages) {
  if (name == "penalties") {
    stages.insert(stages.end(), {SOTTO_STAGE_REPETITION, SOTTO_STAGE_FREQUENCY, SOTTO_STAGE_PRESENCE});
    return true;
  }
  const std::optional<int32_t> stage = find_value(kStageNames, name);
  if (stage) stages.push_back(*stage);
  return stage.has_value();
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

// Prints a note for truncations that cannot change the choice. If only the most likely token can be selected, these
// truncations keep it; others, such as typical_p, may drop it.
void note_unused_truncations(const Command& command, const SamplerParams& params) {
  const bool is_greedy = is_greedy_temperature(params) || params.selection == SOTTO_SELECT_GREEDY;
  if (!is_greedy && params.top_k != 1) return;
  if (!first_given(command, {"--quiet", "--json", "--stream-json", "--jsonl"}).empty()) return;
  for (const char* option :
       {"--top-k", "--top-p", "--min-p", "--top-a", "--tail-free", "--epsilon", "--eta", "--top-n-sigma", "--top-h"}) {
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

// JSON, under the names that other programs use

Token id_of_key(const std::string& key, const std::string& name) {
  const bool is_number = !key.empty() && key.size() < 10 && key.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) throw Failure(name + ": \"" + key + "\" is not a token id");
  return std::stoi(key);
}

// Calls `add(a, b)` for each entry of a list such as [[12, 0.5]] or [{"token": 12, "bias": 0.5}].
template <typename Add>
void read_pairs(const Json& list, const std::string& name, const char* first, Add add) {
  for (const Json& entry : to_list(list, name)) {
    if (entry.is_array() && entry.list().size() == 2) {
      add(entry.list()[0], entry.list()[1]);
    } else if (entry.contains(first) && entry.contains("bias")) {
      add(*entry.find(first), *entry.find("bias"));
    } else {
      throw Failure(name + ": " + entry.dump() + " is neither [" + first + ", bias] nor an object of both");
    }
  }
}

// Reads a list of pairs, or an object such as {"12": -1.5}.
void read_logit_bias(const Json& value, const std::string& name, SamplerParams& params) {
  if (value.is_object()) {
    for (const auto& [key, bias] : value.members()) {
      params.logit_bias.push_back({id_of_key(key, name), to_float(bias, name)});
    }
    return;
  }
  read_pairs(value, name, "token", [&](const Json& token, const Json& bias) {
    params.logit_bias.push_back({to_token(token, name), to_float(bias, name)});
  });
}

void read_sequence_bias(const Json& value, const std::string& name, SamplerParams& params) {
  read_pairs(value, name, "tokens", [&](const Json& tokens, const Json& bias) {
    params.sequence_bias.push_back({to_tokens(tokens, name), to_float(bias, name)});
  });
}

void read_bad_words(const Json& value, const std::string& name, SamplerParams& params) {
  for (const Json& word : to_list(value, name)) params.bad_words.push_back(to_tokens(word, name));
}

void read_stages(const Json& value, const std::string& name, SamplerParams& params) {
  for (const Json& entry : to_list(value, name)) {
    if (append_stages(to_text(entry, name), params.stages)) continue;
    throw Failure(name + ": " + entry.dump() + " is not one of " + listed(kStageNames));
  }
}

void read_dry_breakers(const Json& value, const std::string& name, SamplerParams& params) {
  auto& breakers = params.dry_breakers.emplace();
  for (const Json& text : to_list(value, name)) breakers.push_back(to_text(text, name));
}

void read_seed(const Json& value, const std::string& name, SamplerParams& params) { params.seed = to_key(value, name); }

void read_mirostat(const Json& value, const std::string& name, SamplerParams& params) {
  if (set_mirostat(to_count(value, name), params)) return;
  throw Failure(name + " is " + value.dump() + "; it must be 0, 1 or 2");
}

void read_do_sample(const Json& value, const std::string& name, SamplerParams& params) {
  if (!to_bool(value, name)) params.selection = SOTTO_SELECT_GREEDY;
}

void read_greedy(const Json& value, const std::string& name, SamplerParams& params) {
  if (to_bool(value, name)) params.temperature = 0.0f;
}

// Sets a member of params.watermark. Creates the watermark if necessary, even with the scheme NONE.
void read_watermark_part(const std::string& key, const Json& value, const std::string& name, SamplerParams& params) {
  const Parameter* parameter = find_parameter(kWatermarkParameters, key);
  if (parameter == nullptr) parameter = find_parameter(kWatermarkParameters, "watermark_" + key);
  if (parameter == nullptr) throw Failure("unknown parameter: " + name);
  if (!params.watermark) params.watermark.emplace();
  sotto_watermark_params& c_params = *params.watermark;
  read_parameter(*parameter, value, name, &c_params);
}

// Reads the name of a scheme, or an object with the watermark's parameters.
void read_watermark(const Json& value, const std::string& name, SamplerParams& params) {
  if (value.is_string()) return read_watermark_part("scheme", value, name, params);
  if (!value.is_object()) throw Failure(name + " is neither a scheme nor an object");
  if (!params.watermark) params.watermark.emplace();
  params.watermark->scheme = SOTTO_WATERMARK_LEFT_HASH;
  const std::string prefix = name + '.';
  for (const auto& [key, item] : value.members()) read_watermark_part(key, item, prefix + key, params);
}

// A JSON name that needs its own function: its value is a list, or it sets other parameters.
struct AliasedParam {
  const char* names;
  void (*read)(const Json& value, const std::string& name, SamplerParams& params);
};

constexpr AliasedParam kAliasedParams[] = {{"logit_bias", read_logit_bias},
                                           {"sequence_bias", read_sequence_bias},
                                           {"bad_words,bad_word,bad_words_ids", read_bad_words},
                                           {"dry_breakers,dry_breaker,dry_sequence_breakers", read_dry_breakers},
                                           {"stages,samplers", read_stages},
                                           {"seed", read_seed},
                                           {"mirostat", read_mirostat},
                                           {"do_sample", read_do_sample},
                                           {"greedy", read_greedy},
                                           {"watermark,watermarking_config", read_watermark}};

// A JSON name of a parameter of sequences or sessions. Since it cannot affect the choice of a single token, it is
// accepted only with the value that disables it.
struct IgnoredParam {
  const char* names;
  const char* value;
};
constexpr IgnoredParam kIgnoredParams[] = {{"num_beams", "1"},
                                           {"num_beam_groups", "1"},
                                           {"n,num_return_sequences,best_of", "1"},
                                           {"length_penalty", "1"},
                                           {"early_stopping", "false"},
                                           {"penalty_alpha", "0"},
                                           {"guidance_scale", "1"},
                                           {"stop", "[]"},
                                           {"logprobs,log_probabilities", "false"},
                                           {"alternative_count,top_logprobs", "0"},
                                           {"num_keep", "0"}};

bool is_among(const char* names, const std::string& name) {
  const std::vector<std::string> list = split_names(names);
  return std::find(list.begin(), list.end(), name) != list.end();
}

void read_sampler_parameter(const std::string& name, const Json& value, SamplerParams& params) {
  if (const Parameter* parameter = find_parameter(kSamplerParameters, name)) {
    sotto_sampler_params& c_params = params;
    return read_parameter(*parameter, value, name, &c_params);
  }
  for (const TokenListParam& param : kTokenLists) {
    if (is_among(param.names, name)) {
      params.*param.list = to_tokens(value, name);
      return;
    }
  }
  for (const AliasedParam& aliased : kAliasedParams) {
    if (is_among(aliased.names, name)) return aliased.read(value, name, params);
  }
  if (name.starts_with("watermark_")) return read_watermark_part(name.substr(name.find('_') + 1), value, name, params);
  for (const IgnoredParam& ignored : kIgnoredParams) {
    if (!is_among(ignored.names, name)) continue;
    const Json neutral = parse_json(ignored.value);
    if (value == neutral || (neutral == false && value == 0)) return;
    throw Failure(name + " has no effect on the choice of one token; it must be " + ignored.value);
  }
  throw Failure("unknown parameter: " + name);
}

}  // namespace

bool is_greedy_temperature(const SamplerParams& params) {
  return params.temperature == 0.0f && params.temperature_range == 0.0f;
}

SamplerParams without_stages(SamplerParams params) {
  for (const sotto_stage stage : kStageOrders[SOTTO_ORDER_DEFAULT]) (void)turn_off_stage(stage, params);
  params.selection = SOTTO_SELECT_MULTINOMIAL;
  params.stages.clear();
  return params;
}

std::vector<Stage> stages_of(const SamplerParams& params) {
  const auto order = kStageOrders[params.order];
  const std::vector<sotto_stage> all =
      params.stages.empty() ? std::vector<sotto_stage>(order, order + std::size(kStageOrders[0])) : params.stages;
  std::vector<Stage> stages;
  SamplerParams rest = params;
  rest.selection = SOTTO_SELECT_MULTINOMIAL;
  if (is_greedy_temperature(params)) rest.temperature = 1.0f;
  for (size_t i = all.size(); i-- > 0;) {
    const SamplerParams upto = rest;
    if (turn_off_stage(all[i], rest)) stages.push_back({name_of(kStageNames, all[i]), upto});
  }
  std::reverse(stages.begin(), stages.end());
  return stages;
}

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
    if (param.option == nullptr || (options.*param.texts).empty()) continue;
    params.*param.list = reader.all(options.*param.texts, split_names(param.option).front().c_str());
  }
  if (!options.forced_prefix.empty()) params.forced_prefix = reader.tokens(options.forced_prefix, "--force-prefix");
  sotto_sampler_params& c_params = params;
  for (const auto& [parameter, text] : options.tokens) {
    member<int32_t>(*parameter, &c_params) = reader.token(text, parameter->option().c_str());
  }
  read_breakers(options, params);
  if (params.model_defaults != 0) read_model_defaults(options, model.info());
}

void add_watermark_options(Command& command, WatermarkParams& params) {
  sotto_watermark_params& c_params = params;
  add_parameters(command, kWatermarkParameters, &c_params);
}

void validate_watermark_options(const Command& command, const WatermarkParams& params) {
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

Json watermark_json(const WatermarkParams& params) {
  const sotto_watermark_params& c_params = params;
  return parameters_json(kWatermarkParameters, &c_params);
}

Json sampler_json(const SamplerParams& params) {
  const sotto_sampler_params& c_params = params;
  Json object = parameters_json(kSamplerParameters, &c_params);
  object["seed"] = params.seed;
  for (const sotto_stage stage : params.stages) object["stages"].push_back(name_of(kStageNames, stage));
  for (const TokenBias& entry : params.logit_bias) {
    object["logit_bias"].push_back({{"token", entry.token}, {"bias", number_json(entry.bias)}});
  }
  for (const SequenceBias& entry : params.sequence_bias) {
    object["sequence_bias"].push_back({{"tokens", entry.tokens}, {"bias", number_json(entry.bias)}});
  }
  if (!params.bad_words.empty()) object["bad_words"] = params.bad_words;
  for (const TokenListParam& param : kTokenLists) {
    if (!(params.*param.list).empty()) object[split_names(param.names).front()] = params.*param.list;
  }
  if (params.dry_breakers) object["dry_breakers"] = *params.dry_breakers;
  if (params.watermark) object["watermark"] = watermark_json(*params.watermark);
  return object;
}

void read_sampler_json(const Json& object, SamplerParams& params) {
  if (!object.is_object()) throw Failure("params is not an object");
  for (const auto& [name, value] : object.members()) {
    if (!value.is_null()) read_sampler_parameter(name, value, params);  // null counts as not given
  }
  if (params.watermark && params.watermark->scheme == SOTTO_WATERMARK_NONE) params.watermark.reset();
  // The option --adaptive-p does the same.
  if (params.adaptive_target >= 0.0f && !object.contains("selection")) params.selection = SOTTO_SELECT_ADAPTIVE_P;
}

}  // namespace sotto::cli
