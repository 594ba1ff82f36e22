// The sampler's parameters as JSON.
#include "platforms/cli/options/sampler_json.h"

#include "platforms/cli/options/sampler_fields.h"

namespace sotto::cli {
namespace {

Json field_json(const SamplerField& field, const sotto_sampler_params& params) {
  if (const auto* number = std::get_if<float sotto_sampler_params::*>(&field.member)) {
    return number_json(params.**number);
  }
  if (const auto* value = std::get_if<int32_t sotto_sampler_params::*>(&field.member)) {
    if (field.kind == FieldKind::kName) return name_of(field.choices(), params.**value);
    return params.**value;
  }
  const uint32_t count = params.*std::get<uint32_t sotto_sampler_params::*>(field.member);
  const bool is_switch = field.kind == FieldKind::kOn || field.kind == FieldKind::kOff;
  return is_switch ? Json(count != 0) : Json(count);
}

}  // namespace

Json watermark_json(const sotto_watermark_params& params) {
  return {{"scheme", name_of(watermark_names(), params.scheme)},
          {"context_width", params.context_width},
          {"gamma", number_json(params.gamma)},
          {"delta", number_json(params.delta)},
          {"tournament_layers", params.tournament_layers},
          {"key", params.key}};
}

Json sampler_json(const SamplerSettings& settings) {
  Json object = Json::object();
  for (const FieldGroup& group : sampler_fields()) {
    for (const SamplerField& field : group.fields) {
      object[field.name] = field_json(field, settings.params);
    }
  }
  object["seed"] = settings.params.seed;
  if (!settings.stages.empty()) {
    for (const sotto_stage stage : settings.stages) {
      object["stages"].push_back(name_of(stage_names(), stage));
    }
  }
  for (const sotto_token_bias& entry : settings.logit_bias) {
    object["logit_bias"].push_back({{"token", entry.token}, {"bias", number_json(entry.bias)}});
  }
  for (const BiasedTokens& entry : settings.sequence_bias) {
    object["sequence_bias"].push_back({{"tokens", entry.tokens}, {"bias", number_json(entry.bias)}});
  }
  if (!settings.bad_words.empty()) object["bad_words"] = settings.bad_words;
  const auto add = [&](const char* name, const Tokens& tokens) {
    if (!tokens.empty()) object[name] = tokens;
  };
  add("allowed_tokens", settings.allowed_tokens);
  add("suppressed_tokens", settings.suppressed_tokens);
  add("begin_suppressed_tokens", settings.begin_suppressed_tokens);
  add("forced_prefix", settings.forced_prefix);
  add("dry_breaker_tokens", settings.dry_breaker_tokens);
  if (settings.dry_breakers) object["dry_breakers"] = *settings.dry_breakers;
  if (settings.watermark.scheme != SOTTO_WATERMARK_NONE) {
    object["watermark"] = watermark_json(settings.watermark);
  }
  return object;
}

}  // namespace sotto::cli
