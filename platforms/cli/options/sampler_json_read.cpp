// The sampler's parameters from JSON, under the names that many programs have for them.
#include <algorithm>

#include "platforms/cli/options/sampler_fields.h"
#include "platforms/cli/options/sampler_json.h"
#include "platforms/cli/support/failure.h"

namespace sotto::cli {
namespace {

using Read = void (*)(const Json& value, const std::string& name, SamplerSettings& settings);

struct Special {
  const char* names;
  Read read;
};

[[noreturn]] void refuse_name(const std::string& name, const std::string& text, Names names) {
  throw Failure(name + ": \"" + text + "\" is not one of " + listed(names));
}

int32_t to_value(const Json& value, const std::string& name, Names names) {
  const std::string& text = to_text(value, name);
  const std::optional<int32_t> found = find_value(names, text);
  if (!found) refuse_name(name, text, names);
  return *found;
}

void read_field(const SamplerField& field, const Json& value, const std::string& name, sotto_sampler_params& params) {
  if (const auto* number = std::get_if<float sotto_sampler_params::*>(&field.member)) {
    params.** number = to_float(value, name);
    return;
  }
  if (const auto* member = std::get_if<int32_t sotto_sampler_params::*>(&field.member)) {
    const bool is_none = field.kind == FieldKind::kToken && value == -1;
    params.** member = field.kind == FieldKind::kName ? to_value(value, name, field.choices())
                       : is_none                      ? -1
                                                      : to_token(value, name);
    return;
  }
  uint32_t& count = params.*std::get<uint32_t sotto_sampler_params::*>(field.member);
  if (field.kind == FieldKind::kWindow && value == -1) {
    count = UINT32_MAX;
  } else if (field.kind == FieldKind::kOn || field.kind == FieldKind::kOff) {
    const bool is_opposite = field.kind == FieldKind::kOff && name != field.name;
    count = to_bool(value, name) != is_opposite ? 1 : 0;
  } else {
    count = to_count(value, name);
  }
}

sotto_token id_of_key(const std::string& key, const std::string& name) {
  const bool is_number = !key.empty() && key.size() < 10 && key.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) throw Failure(name + ": \"" + key + "\" is not a token id");
  return std::stoi(key);
}

// {"12": -1.5}, [[12, -1.5]] or [{"token": 12, "bias": -1.5}].
void read_logit_bias(const Json& value, const std::string& name, SamplerSettings& settings) {
  const auto add = [&](sotto_token token, const Json& bias) {
    settings.logit_bias.push_back({token, to_float(bias, name)});
  };
  if (value.is_object()) {
    for (const auto& [key, bias] : value.items()) add(id_of_key(key, name), bias);
    return;
  }
  for (const Json& entry : to_list(value, name)) {
    if (entry.is_array() && entry.size() == 2) {
      add(to_token(entry[0], name), entry[1]);
    } else if (entry.is_object() && entry.contains("token") && entry.contains("bias")) {
      add(to_token(entry["token"], name), entry["bias"]);
    } else {
      throw Failure(name + ": " + entry.dump() + " is neither [token, bias] nor an object of both");
    }
  }
}

// [[[1, 2], 0.5]] or [{"tokens": [1, 2], "bias": 0.5}].
void read_sequence_bias(const Json& value, const std::string& name, SamplerSettings& settings) {
  for (const Json& entry : to_list(value, name)) {
    if (entry.is_array() && entry.size() == 2) {
      settings.sequence_bias.push_back({to_tokens(entry[0], name), to_float(entry[1], name)});
    } else if (entry.is_object() && entry.contains("tokens") && entry.contains("bias")) {
      settings.sequence_bias.push_back({to_tokens(entry["tokens"], name), to_float(entry["bias"], name)});
    } else {
      throw Failure(name + ": " + entry.dump() + " is neither [tokens, bias] nor an object of both");
    }
  }
}

void read_bad_words(const Json& value, const std::string& name, SamplerSettings& settings) {
  for (const Json& word : to_list(value, name)) settings.bad_words.push_back(to_tokens(word, name));
}

void read_stages(const Json& value, const std::string& name, SamplerSettings& settings) {
  for (const Json& entry : to_list(value, name)) {
    if (entry == "penalties") {
      settings.stages.insert(settings.stages.end(),
                             {SOTTO_STAGE_REPETITION, SOTTO_STAGE_FREQUENCY, SOTTO_STAGE_PRESENCE});
    } else {
      settings.stages.push_back(to_value(entry, name, stage_names()));
    }
  }
}

void read_dry_breakers(const Json& value, const std::string& name, SamplerSettings& settings) {
  auto& breakers = settings.dry_breakers.emplace();
  for (const Json& text : to_list(value, name)) breakers.push_back(to_text(text, name));
}

void read_seed(const Json& value, const std::string& name, SamplerSettings& settings) {
  if (value.is_number_unsigned()) {
    settings.params.seed = value.get<uint64_t>();
  } else {
    settings.params.seed = static_cast<uint64_t>(std::max<int64_t>(0, to_integer(value, name)));
    if (value < 0) throw Failure(name + " is " + value.dump() + ", not a 64-bit number");
  }
}

void read_mirostat(const Json& value, const std::string& name, SamplerSettings& settings) {
  const uint32_t version = to_count(value, name);
  if (version > 2) throw Failure(name + " is " + value.dump() + ", not 0, 1 or 2");
  constexpr sotto_selection kVersions[] = {SOTTO_SELECT_MULTINOMIAL, SOTTO_SELECT_MIROSTAT, SOTTO_SELECT_MIROSTAT_V2};
  settings.params.selection = kVersions[version];
}

void read_do_sample(const Json& value, const std::string& name, SamplerSettings& settings) {
  if (!to_bool(value, name)) settings.params.selection = SOTTO_SELECT_GREEDY;
}

void read_greedy(const Json& value, const std::string& name, SamplerSettings& settings) {
  if (to_bool(value, name)) settings.params.temperature = 0.0f;
}

// `key` is a name of sotto_watermark_params, of transformers, or of an option without
// "watermark".
void read_watermark_part(const std::string& key, const Json& value, const std::string& name,
                         sotto_watermark_params& params) {
  if (key == "scheme" || key == "seeding_scheme") {
    params.scheme = to_value(value, name, watermark_names());
  } else if (key == "context_width" || key == "context") {
    params.context_width = to_count(value, name);
  } else if (key == "gamma" || key == "greenlist_ratio") {
    params.gamma = to_float(value, name);
  } else if (key == "delta" || key == "bias") {
    params.delta = to_float(value, name);
  } else if (key == "tournament_layers" || key == "layers") {
    params.tournament_layers = to_count(value, name);
  } else if (key == "key" || key == "hashing_key") {
    params.key = static_cast<uint64_t>(to_integer(value, name));
  } else {
    throw Failure(name + ": no such parameter");
  }
}

// "lefthash", or an object of parts.
void read_watermark(const Json& value, const std::string& name, SamplerSettings& settings) {
  sotto_watermark_params& params = settings.watermark;
  if (value.is_string()) {
    params.scheme = to_value(value, name, watermark_names());
    return;
  }
  if (!value.is_object()) throw Failure(name + " is neither a scheme nor an object");
  params.scheme = SOTTO_WATERMARK_LEFT_HASH;
  for (const auto& [key, item] : value.items()) {
    read_watermark_part(key, item, name + '.' + key, params);
  }
}

constexpr Special kSpecials[] = {
    {"logit_bias", read_logit_bias},
    {"sequence_bias", read_sequence_bias},
    {"bad_words,bad_word,bad_words_ids", read_bad_words},
    {"allowed_tokens,allowed_token_ids,allow",
     [](const Json& value, const std::string& name, SamplerSettings& settings) {
       settings.allowed_tokens = to_tokens(value, name);
     }},
    {"suppressed_tokens,suppress_tokens,suppress",
     [](const Json& value, const std::string& name, SamplerSettings& settings) {
       settings.suppressed_tokens = to_tokens(value, name);
     }},
    {"begin_suppressed_tokens,begin_suppress_tokens,begin_suppress",
     [](const Json& value, const std::string& name, SamplerSettings& settings) {
       settings.begin_suppressed_tokens = to_tokens(value, name);
     }},
    {"forced_prefix,force_prefix", [](const Json& value, const std::string& name,
                                      SamplerSettings& settings) { settings.forced_prefix = to_tokens(value, name); }},
    {"dry_breaker_tokens,dry_breaker_token",
     [](const Json& value, const std::string& name, SamplerSettings& settings) {
       settings.dry_breaker_tokens = to_tokens(value, name);
     }},
    {"dry_breakers,dry_breaker,dry_sequence_breakers", read_dry_breakers},
    {"stages,samplers", read_stages},
    {"seed", read_seed},
    {"mirostat", read_mirostat},
    {"do_sample", read_do_sample},
    {"greedy", read_greedy},
    {"watermark_scheme,watermark_key,watermark_context,watermark_context_width,watermark_gamma,"
     "watermark_delta,watermark_layers",
     [](const Json& value, const std::string& name, SamplerSettings& settings) {
       read_watermark_part(name.substr(name.find('_') + 1), value, name, settings.watermark);
     }},
    {"watermark,watermarking_config", read_watermark}};

// Names that concern sequences and sessions: what they may say here.
struct Neutral {
  const char* names;
  const char* value;
};
constexpr Neutral kNeutrals[] = {{"num_beams", "1"},
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

void read_parameter(const std::string& name, const Json& value, SamplerSettings& settings) {
  if (const SamplerField* field = find_field(name)) {
    return read_field(*field, value, name, settings.params);
  }
  for (const Special& special : kSpecials) {
    if (is_among(special.names, name)) return special.read(value, name, settings);
  }
  for (const Neutral& neutral : kNeutrals) {
    if (!is_among(neutral.names, name)) continue;
    const Json standard = Json::parse(neutral.value);
    if (value == standard || (standard == false && value == 0)) return;
    throw Failure(name + " has no effect on the choice of one token; only " + neutral.value + " goes here");
  }
  throw Failure(name + ": no such parameter");
}

}  // namespace

void read_sampler_json(const Json& object, SamplerSettings& settings) {
  if (!object.is_object()) throw Failure("params is not an object");
  for (const auto& [name, value] : object.items()) {
    if (!value.is_null()) read_parameter(name, value, settings);  // null: not given
  }
  // As the option --adaptive-p does.
  sotto_sampler_params& params = settings.params;
  if (params.adaptive_target >= 0.0f && !object.contains("selection")) {
    params.selection = SOTTO_SELECT_ADAPTIVE_P;
  }
}

}  // namespace sotto::cli
