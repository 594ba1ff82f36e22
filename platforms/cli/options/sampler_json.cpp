// The sampler's parameters to JSON, and from JSON under the names that other programs use.
#include <algorithm>

#include "platforms/cli/options/cli11.h"
#include "platforms/cli/options/sampler.h"

namespace sotto::cli {
namespace {

Token id_of_key(const std::string& key, const std::string& name) {
  const bool is_number = !key.empty() && key.size() < 10 && key.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) throw Failure(name + ": \"" + key + "\" is not a token id");
  return std::stoi(key);
}

// Calls `add` with the two values of each entry of a list: [[12, 0.5]] or [{"token": 12, "bias": 0.5}].
template <typename Add>
void read_pairs(const Json& list, const std::string& name, const char* first, Add add) {
  for (const Json& entry : to_list(list, name)) {
    if (entry.is_array() && entry.size() == 2) {
      add(entry[0], entry[1]);
    } else if (entry.is_object() && entry.contains(first) && entry.contains("bias")) {
      add(entry[first], entry["bias"]);
    } else {
      throw Failure(name + ": " + entry.dump() + " is neither [" + first + ", bias] nor an object of both");
    }
  }
}

// A list of pairs, or {"12": -1.5}.
void read_logit_bias(const Json& value, const std::string& name, SamplerParams& params) {
  if (value.is_object()) {
    for (const auto& [key, bias] : value.items()) {
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
    if (entry == "penalties") {
      params.stages.insert(params.stages.end(), {SOTTO_STAGE_REPETITION, SOTTO_STAGE_FREQUENCY, SOTTO_STAGE_PRESENCE});
    } else {
      params.stages.push_back(read_name(entry, name, kStageNames));
    }
  }
}

void read_dry_breakers(const Json& value, const std::string& name, SamplerParams& params) {
  auto& breakers = params.dry_breakers.emplace();
  for (const Json& text : to_list(value, name)) breakers.push_back(to_text(text, name));
}

void read_seed(const Json& value, const std::string& name, SamplerParams& params) {
  if (value.is_number_unsigned()) {
    params.seed = value.get<uint64_t>();
    return;
  }
  const int64_t seed = to_integer(value, name);
  if (seed < 0) throw Failure(name + " is " + value.dump() + "; it must be a 64-bit number");
  params.seed = static_cast<uint64_t>(seed);
}

void read_mirostat(const Json& value, const std::string& name, SamplerParams& params) {
  const uint32_t version = to_count(value, name);
  if (version > 2) throw Failure(name + " is " + value.dump() + "; it must be 0, 1 or 2");
  constexpr sotto_selection kVersions[] = {SOTTO_SELECT_MULTINOMIAL, SOTTO_SELECT_MIROSTAT, SOTTO_SELECT_MIROSTAT_V2};
  params.selection = kVersions[version];
}

void read_do_sample(const Json& value, const std::string& name, SamplerParams& params) {
  if (!to_bool(value, name)) params.selection = SOTTO_SELECT_GREEDY;
}

void read_greedy(const Json& value, const std::string& name, SamplerParams& params) {
  if (to_bool(value, name)) params.temperature = 0.0f;
}

// `params.watermark` becomes engaged even if the scheme stays NONE.
void read_watermark_part(const std::string& key, const Json& value, const std::string& name, SamplerParams& params) {
  const Parameter* parameter = find_parameter(kWatermarkParameters, key);
  if (parameter == nullptr) parameter = find_parameter(kWatermarkParameters, "watermark_" + key);
  if (parameter == nullptr) throw Failure(name + ": no such parameter");
  if (!params.watermark) params.watermark.emplace();
  sotto_watermark_params& c_params = *params.watermark;
  read_parameter(*parameter, value, name, &c_params);
}

// "lefthash", or an object of parts.
void read_watermark(const Json& value, const std::string& name, SamplerParams& params) {
  if (value.is_string()) return read_watermark_part("scheme", value, name, params);
  if (!value.is_object()) throw Failure(name + " is neither a scheme nor an object");
  if (!params.watermark) params.watermark.emplace();
  params.watermark->scheme = SOTTO_WATERMARK_LEFT_HASH;
  for (const auto& [key, item] : value.items()) read_watermark_part(key, item, name + '.' + key, params);
}

template <TokenList SamplerParams::*member>
void read_tokens(const Json& value, const std::string& name, SamplerParams& params) {
  params.*member = to_tokens(value, name);
}

// Parameters that are lists, or that set others.
struct AliasedParam {
  const char* names;
  void (*read)(const Json& value, const std::string& name, SamplerParams& params);
};

constexpr AliasedParam kAliasedParams[] = {
    {"logit_bias", read_logit_bias},
    {"sequence_bias", read_sequence_bias},
    {"bad_words,bad_word,bad_words_ids", read_bad_words},
    {"allowed_tokens,allowed_token_ids", read_tokens<&SamplerParams::allowed_tokens>},
    {"suppressed_tokens,suppress_tokens", read_tokens<&SamplerParams::suppressed_tokens>},
    {"begin_suppressed_tokens,begin_suppress_tokens", read_tokens<&SamplerParams::begin_suppressed_tokens>},
    {"forced_prefix,force_prefix", read_tokens<&SamplerParams::forced_prefix>},
    {"dry_breaker_tokens,dry_breaker_token", read_tokens<&SamplerParams::dry_breaker_tokens>},
    {"dry_breakers,dry_breaker,dry_sequence_breakers", read_dry_breakers},
    {"stages,samplers", read_stages},
    {"seed", read_seed},
    {"mirostat", read_mirostat},
    {"do_sample", read_do_sample},
    {"greedy", read_greedy},
    {"watermark,watermarking_config", read_watermark}};

// Names that concern sequences and sessions. They have no effect on the choice of one token, so they are accepted only
// with the value that asks for nothing.
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
  for (const AliasedParam& aliased : kAliasedParams) {
    if (is_among(aliased.names, name)) return aliased.read(value, name, params);
  }
  if (name.starts_with("watermark_")) return read_watermark_part(name.substr(name.find('_') + 1), value, name, params);
  for (const IgnoredParam& ignored : kIgnoredParams) {
    if (!is_among(ignored.names, name)) continue;
    const Json neutral = Json::parse(ignored.value);
    if (value == neutral || (neutral == false && value == 0)) return;
    throw Failure(name + " has no effect on the choice of one token; it must be " + ignored.value);
  }
  throw Failure(name + ": no such parameter");
}

}  // namespace

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
  const auto add = [&](const char* name, const TokenList& tokens) {
    if (!tokens.empty()) object[name] = tokens;
  };
  add("allowed_tokens", params.allowed_tokens);
  add("suppressed_tokens", params.suppressed_tokens);
  add("begin_suppressed_tokens", params.begin_suppressed_tokens);
  add("forced_prefix", params.forced_prefix);
  add("dry_breaker_tokens", params.dry_breaker_tokens);
  if (params.dry_breakers) object["dry_breakers"] = *params.dry_breakers;
  if (params.watermark) object["watermark"] = watermark_json(*params.watermark);
  return object;
}

void read_sampler_json(const Json& object, SamplerParams& params) {
  if (!object.is_object()) throw Failure("params is not an object");
  for (const auto& [name, value] : object.items()) {
    if (!value.is_null()) read_sampler_parameter(name, value, params);  // null: not given
  }
  if (params.watermark && params.watermark->scheme == SOTTO_WATERMARK_NONE) params.watermark.reset();
  // As the option --adaptive-p does.
  if (params.adaptive_target >= 0.0f && !object.contains("selection")) params.selection = SOTTO_SELECT_ADAPTIVE_P;
}

}  // namespace sotto::cli
