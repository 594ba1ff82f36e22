#include "platforms/cli/options/sampler_json.h"

#include <algorithm>

#include "platforms/cli/options/chain.h"
#include "platforms/cli/options/token_lists.h"
#include "platforms/cli/options/watermark.h"

namespace sotto::cli {
namespace {

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
