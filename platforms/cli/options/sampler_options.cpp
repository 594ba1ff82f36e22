// The options of the sampler: one for each of its parameters.
#include "platforms/cli/options/sampler_options.h"

#include <algorithm>
#include <charconv>
#include <random>

#include "platforms/cli/options/option_tools.h"
#include "platforms/cli/options/watermark_options.h"

namespace sotto::cli {
namespace {

const char* type_of(const SamplerField& field) {
  switch (field.kind) {
    case FieldKind::kNumber:
      return "X";
    case FieldKind::kToken:
      return "TOKEN";
    default:
      return "N";
  }
}

CLI::Option* add_field(CLI::App& command, const SamplerField& field, SamplerOptions& options) {
  sotto_sampler_params& params = options.settings.params;
  const std::string option = field.main_option();
  switch (field.kind) {
    case FieldKind::kNumber:
      return add_value(command, field.options, params.*std::get<float sotto_sampler_params::*>(field.member),
                       field.description, type_of(field));
    case FieldKind::kCount:
      return add_value(command, field.options, params.*std::get<uint32_t sotto_sampler_params::*>(field.member),
                       field.description, type_of(field));
    case FieldKind::kWindow: {
      uint32_t& value = params.*std::get<uint32_t sotto_sampler_params::*>(field.member);
      const auto set = [&value, option](int64_t count) { value = parse_window(count, option); };
      const std::string standard = value == UINT32_MAX ? "-1" : std::to_string(value);
      return add_translated<int64_t>(command, field.options, set, field.description, type_of(field), standard);
    }
    case FieldKind::kOn:
    case FieldKind::kOff: {
      uint32_t& value = params.*std::get<uint32_t sotto_sampler_params::*>(field.member);
      const uint32_t set_value = field.kind == FieldKind::kOn ? 1 : 0;
      return command.add_flag_callback(
          spellings(field.options), [&value, set_value] { value = set_value; }, field.description);
    }
    case FieldKind::kToken: {
      const auto set = [&options, &field](const std::string& word) { options.tokens.emplace_back(&field, word); };
      return add_translated<std::string>(command, field.options, set, field.description, type_of(field), "");
    }
    case FieldKind::kName:
      break;
  }
  return add_choice(command, field.options, params.*std::get<int32_t sotto_sampler_params::*>(field.member),
                    field.description, field.choices());
}

void add_fields(CLI::App& command, const char* group_name, SamplerOptions& options) {
  for (const FieldGroup& group : sampler_fields()) {
    if (std::string_view(group.name) != group_name) continue;
    for (const SamplerField& field : group.fields) {
      add_field(command, field, options)->group(group_name);
    }
  }
}

void add_sampling(CLI::App& command, SamplerOptions& options) {
  sotto_sampler_params& params = options.settings.params;
  add_fields(command, kSamplingGroup, options);
  command
      .add_flag_callback(
          "--greedy", [&params] { params.temperature = 0.0f; }, "The same as --temp 0")
      ->group(kSamplingGroup);
  add_translated<std::string>(
      command, "-s,--seed", [&params](const std::string& text) { params.seed = parse_seed(text); },
      "Same seed, same text; \"random\": another each time", "N", std::to_string(params.seed))
      ->group(kSamplingGroup);
}

void add_repetition(CLI::App& command, SamplerOptions& options) {
  add_fields(command, kRepetitionGroup, options);
  add_texts(command, "--dry-breaker,--dry-sequence-breaker", options.dry_breakers,
            "Repetitions end at tokens that contain TEXT; \"none\": at no text "
            "[line end, :, \", *]")
      ->group(kRepetitionGroup);
  add_texts(command, "--dry-breaker-token", options.dry_breaker_tokens, "Repetitions end at these tokens (ids or text)",
            "TOKENS")
      ->group(kRepetitionGroup);
}

void set_stages(const std::string& list, std::vector<sotto_stage>& stages) {
  stages.clear();
  for (const std::string& name : split_names(list)) {
    if (name == "penalties") {
      stages.insert(stages.end(), {SOTTO_STAGE_REPETITION, SOTTO_STAGE_FREQUENCY, SOTTO_STAGE_PRESENCE});
      continue;
    }
    const std::optional<int32_t> stage = find_value(stage_names(), name);
    if (!stage) {
      throw CLI::ValidationError("--stages", '"' + name + "\" is no stage; they are " + listed(stage_names()));
    }
    stages.push_back(*stage);
  }
  if (stages.empty()) throw CLI::ValidationError("--stages", "names no stage");
}

void add_selection(CLI::App& command, SamplerOptions& options) {
  add_fields(command, kSelectionGroup, options);
  sotto_sampler_params& params = options.settings.params;
  add_translated<uint32_t>(
      command, "--mirostat",
      [&params](uint32_t version) {
        if (version > 2) throw CLI::ValidationError("--mirostat", "must be 0, 1 or 2");
        constexpr sotto_selection kVersions[] = {SOTTO_SELECT_MULTINOMIAL, SOTTO_SELECT_MIROSTAT,
                                                 SOTTO_SELECT_MIROSTAT_V2};
        params.selection = kVersions[version];
      },
      "Mirostat 1 or 2: --selection mirostat or mirostat_v2; truncations are off then unless "
      "given",
      "N", "0")
      ->group(kSelectionGroup);
  add_translated<std::string>(
      command, "--stages,--samplers",
      [&options](const std::string& list) { set_stages(list, options.settings.stages); },
      "Exactly these stages in this order, between commas: " + listed(stage_names()), "NAMES", "")
      ->group(kSelectionGroup);
}

void add_bias(CLI::App& command, SamplerOptions& options) {
  const auto add = [&](const char* names, std::vector<std::string>& texts, const char* description, const char* type) {
    add_texts(command, names, texts, description, type)->group(kBiasGroup);
  };
  add("--logit-bias", options.logit_bias,
      "Add BIAS to the logit of TOKEN, an id or text of one token; -inf bans; also a JSON object", "TOKEN=BIAS");
  add("--sequence-bias", options.sequence_bias, "The same for the last token of TEXT after the others", "TEXT=BIAS");
  add("--bad-word,--bad-words", options.bad_words,
      "TEXT's tokens never come whole, with or without a space before it (text in other tokens: "
      "--ban)",
      "TEXT");
  add("--allow,--allowed-tokens,--allowed-token-ids", options.allowed,
      "Only these tokens (ids, or the tokens of a text)", "TOKENS");
  add("--suppress,--suppress-tokens,--suppressed-tokens", options.suppressed, "Never these tokens", "TOKENS");
  add("--begin-suppress,--begin-suppress-tokens,--begin-suppressed-tokens", options.begin_suppressed,
      "Not these as the first generated token", "TOKENS");
  add_value(command, "--force-prefix,--forced-prefix", options.forced_prefix, "The generated text begins with this",
            "TEXT")
      ->group(kBiasGroup);
  add_fields(command, kBiasGroup, options);
}

// Defaults that would stand in the way of what was asked for.
void switch_defaults_off(const CLI::App& command, SamplerSettings& settings) {
  sotto_sampler_params& params = settings.params;
  const bool mirostat = params.selection == SOTTO_SELECT_MIROSTAT || params.selection == SOTTO_SELECT_MIROSTAT_V2;
  const auto is_off = [&](const char* option, sotto_stage stage, bool unless_mirostat) {
    if (is_given(command, option)) return false;
    if (mirostat && unless_mirostat) return true;
    const auto& stages = settings.stages;
    return !stages.empty() && std::find(stages.begin(), stages.end(), stage) == stages.end();
  };
  if (is_off("--top-k", SOTTO_STAGE_TOP_K, true)) params.top_k = 0;
  if (is_off("--top-p", SOTTO_STAGE_TOP_P, true)) params.top_p = 1.0f;
  if (is_off("--min-p", SOTTO_STAGE_MIN_P, true)) params.min_p = 0.0f;
  if (is_off("--temp", SOTTO_STAGE_TEMPERATURE, false) && !is_given(command, "--greedy")) {
    params.temperature = 1.0f;
  }
}

void settle_selection(const CLI::App& command, sotto_sampler_params& params) {
  refuse_with(command, "--mirostat", {"--selection", "--adaptive-p", "--greedy"});
  refuse_with(command, "--greedy", {"--temp", "--temp-range"});
  if (is_given(command, "--adaptive-p") && params.adaptive_target >= 0.0f) {
    if (!is_given(command, "--selection")) params.selection = SOTTO_SELECT_ADAPTIVE_P;
    if (params.selection != SOTTO_SELECT_ADAPTIVE_P) refuse_with(command, "--adaptive-p", {"--selection"});
  }
  const bool first = params.selection == SOTTO_SELECT_MIROSTAT;
  const bool second = params.selection == SOTTO_SELECT_MIROSTAT_V2;
  if ((first || second) && is_cold(params)) {
    throw CLI::ValidationError("--temp", "0 takes the likeliest token, which Mirostat does not");
  }
  const std::string needless = !first && !second ? first_given(command, {"--mirostat-tau", "--mirostat-eta"}) : "";
  if (!needless.empty()) {
    throw CLI::ValidationError(needless, "has no effect without --mirostat 1 or 2");
  }
  if (!first && is_given(command, "--mirostat-m")) {
    throw CLI::ValidationError("--mirostat-m", "has no effect without --mirostat 1");
  }
}

}  // namespace

bool is_cold(const sotto_sampler_params& params) {
  return params.temperature == 0.0f && params.temperature_range == 0.0f;
}

uint64_t parse_seed(const std::string& text) {
  if (text == "random" || text == "-1") {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  }
  uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, seed);
  if (result.ec != std::errc() || result.ptr != end) {
    throw CLI::ValidationError("--seed", '"' + text + "\" is neither a 64-bit number nor \"random\"");
  }
  return seed;
}

void add_sampler_options(CLI::App& command, SamplerOptions& options) {
  add_sampling(command, options);
  add_fields(command, kTruncationGroup, options);
  add_repetition(command, options);
  add_selection(command, options);
  add_bias(command, options);
  add_watermark_options(command, options.settings.watermark);
}

void settle_sampler_options(const CLI::App& command, SamplerOptions& options) {
  for (const FieldGroup& group : sampler_fields()) {
    for (const SamplerField& field : group.fields) {
      const std::vector<std::string> masters = split_names(field.needs);
      if (!masters.empty()) require_with(command, field.main_option(), masters);
    }
  }
  require_with(command, "--dry-breaker", {"--dry-multiplier"});
  require_with(command, "--dry-breaker-token", {"--dry-multiplier"});
  refuse_with(command, "--stages", {"--order"});
  settle_watermark_options(command, options.settings.watermark);
  settle_selection(command, options.settings.params);
  switch_defaults_off(command, options.settings);
}

}  // namespace sotto::cli
