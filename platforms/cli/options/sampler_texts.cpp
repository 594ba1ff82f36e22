// The sampler's lists, from the texts that the options gave.
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "platforms/cli/options/sampler_options.h"
#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/text.h"
#include "platforms/cli/support/token_text.h"

namespace sotto::cli {
namespace {

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

// "what=bias"; for ids also llama.cpp's "15043+1" and "15043-1".
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

// {"50256": -100, " the": 2}, as the OpenAI API has it.
void read_bias_object(const std::string& text, const TokenReader& reader, std::vector<sotto_token_bias>& list) {
  const auto object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) {
    throw Failure("--logit-bias: " + text + " is no JSON object", kExitUsage);
  }
  for (const auto& [what, value] : object.items()) {
    if (!value.is_number() && value != "-inf" && value != false) {
      throw Failure("--logit-bias: the bias of " + in_quotes(what) + " is no number", kExitUsage);
    }
    const float bias = value.is_number() ? value.get<float>() : -INFINITY;
    list.push_back({reader.token(what, "--logit-bias"), bias});
  }
}

void read_biases(const SamplerOptions& options, const TokenReader& reader, SamplerSettings& settings) {
  for (const std::string& word : options.logit_bias) {
    if (word.starts_with('{')) {
      read_bias_object(word, reader, settings.logit_bias);
      continue;
    }
    const Bias bias = split_bias(word, "--logit-bias");
    settings.logit_bias.push_back({reader.token(bias.what, "--logit-bias"), bias.value});
  }
  for (const std::string& word : options.sequence_bias) {
    const Bias bias = split_bias(word, "--sequence-bias");
    for (Tokens& tokens : reader.variants(bias.what, "--sequence-bias")) {
      settings.sequence_bias.push_back({std::move(tokens), bias.value});
    }
  }
}

void read_breakers(const SamplerOptions& options, SamplerSettings& settings) {
  if (options.dry_breakers.empty()) return;
  auto& breakers = settings.dry_breakers.emplace();
  for (const std::string& word : options.dry_breakers) {
    if (word == "none") {
      breakers.clear();
    } else {
      breakers.push_back(unquoted(word, "--dry-breaker"));
    }
  }
}

}  // namespace

void read_sampler_texts(SamplerOptions& options, const Model& model) {
  const TokenReader reader(model);
  SamplerSettings& settings = options.settings;
  read_biases(options, reader, settings);
  for (const std::string& word : options.bad_words) {
    for (Tokens& tokens : reader.variants(word, "--bad-word")) {
      settings.bad_words.push_back(std::move(tokens));
    }
  }
  settings.allowed_tokens = reader.all(options.allowed, "--allow");
  settings.suppressed_tokens = reader.all(options.suppressed, "--suppress");
  settings.begin_suppressed_tokens = reader.all(options.begin_suppressed, "--begin-suppress");
  settings.dry_breaker_tokens = reader.all(options.dry_breaker_tokens, "--dry-breaker-token");
  if (!options.forced_prefix.empty()) {
    settings.forced_prefix = reader.tokens(options.forced_prefix, "--force-prefix");
  }
  for (const auto& [field, word] : options.tokens) {
    settings.params.*std::get<int32_t sotto_sampler_params::*>(field->member) =
        reader.token(word, field->main_option().c_str());
  }
  read_breakers(options, settings);
}

}  // namespace sotto::cli
