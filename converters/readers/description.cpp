#include "converters/readers/description.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "converters/chat/chat_format.h"
#include "converters/file.h"
#include "runtime/base/utf8.h"
#include "runtime/generated/params.h"

namespace sotto {
namespace {

constexpr uint64_t kTextLimit = uint64_t{1} << 20;

enum class SamplingKeys { kTransformers, kGguf };

// Reads a member if it is present. `key` is null if the format does not have this parameter.
void read_value(const Config& config, const char* key, std::optional<float>& value) {
  if (key != nullptr && config.find(key) != nullptr) value = static_cast<float>(config.number(key, 0));
}

// Reads a count. As in llama.cpp, a negative one means 0.
void read_value(const Config& config, const char* key, std::optional<uint32_t>& value) {
  const nlohmann::json* given = key == nullptr ? nullptr : config.find(key);
  if (given == nullptr) return;
  if (given->is_number_integer() && !given->is_number_unsigned()) {
    value = 0;
  } else {
    value = config.count(key, nullptr, 0);
  }
}

// Throws an error if the runtime would reject the parameters.
void check_sampling(const Config& config, const RecommendedSampling& sampling) {
  SamplerParams params;
#define ASSIGN(type, name, ...) params.name = sampling.name.value_or(params.name);
  SOTTO_RECOMMENDED_PARAMETERS(ASSIGN)
#undef ASSIGN
  Error error;
  if (check_ranges(params, &error) != Status::kOk) throw std::runtime_error(config.where() + ": " + error.message);
}

RecommendedSampling read_sampling(const Config& config, SamplingKeys keys) {
  RecommendedSampling sampling;
#define READ(type, name, transformers_key, gguf_key) \
  read_value(config, keys == SamplingKeys::kTransformers ? transformers_key : gguf_key, sampling.name);
  SOTTO_RECOMMENDED_PARAMETERS(READ)
#undef READ
  if (sampling.repetition_penalty) sampling.repetition_window = kWholeWindow;
  return sampling;
}

// Sets the parameters that a file omits to transformers' defaults, if the file turns sampling on or names any
// parameter.
void complete_sampling(const Config& config, RecommendedSampling& sampling) {
  const bool names_any =
      sampling.temperature || sampling.top_k || sampling.top_p || sampling.min_p || sampling.typical_p;
  if (!config.flag("do_sample", true)) {
    sampling.temperature = 0.0f;
  } else if (names_any || config.flag("do_sample", false)) {
    sampling.temperature = sampling.temperature.value_or(1.0f);
    sampling.top_k = sampling.top_k.value_or(50);
    sampling.top_p = sampling.top_p.value_or(1.0f);
    sampling.min_p = sampling.min_p.value_or(0.0f);
  }
}

void read_generation_config(const std::filesystem::path& path, CheckpointInfo& info, std::vector<std::string>& notes) {
  const Config config(path);
  config.read_end_of_text(info, notes);
  info.sampling = read_sampling(config, SamplingKeys::kTransformers);
  complete_sampling(config, info.sampling);
  check_sampling(config, info.sampling);
}

std::string checked_utf8(const std::filesystem::path& path, std::string text) {
  const size_t valid = find_invalid_utf8(text);
  if (valid == text.size()) return text;
  throw std::runtime_error(path.string() + ": is not UTF-8 at byte " + std::to_string(valid));
}

// Returns "chat_template" of tokenizer_config.json. If it is a list of named templates, the one named "default" is
// preferred.
std::string chat_template(const Config& config) {
  constexpr char kKey[] = "chat_template";
  const nlohmann::json* value = config.find(kKey);
  if (value == nullptr || !value->is_array()) return config.text(kKey, "");
  std::string text;
  for (const nlohmann::json& entry : *value) {
    const bool is_named = entry.is_object() && entry.contains("name") && entry.contains("template");
    if (!is_named || !entry["name"].is_string() || !entry["template"].is_string()) {
      config.fail(kKey, "has an entry without a name or a template");
    }
    if (text.empty() || entry["name"] == "default") text = entry["template"].get<std::string>();
  }
  return text;
}

// Adds the special tokens that a configuration of transformers names, such as "eos_token", to `tokens`.
void read_special_tokens(const Config& config, nlohmann::json& tokens) {
  for (const auto& [key, value] : config.root().items()) {
    if (!key.ends_with("_token")) continue;
    const nlohmann::json& text = value.is_object() && value.contains("content") ? value["content"] : value;
    if (text.is_string()) tokens[key] = text;
  }
}

// Returns the special tokens of a GGUF file, with the names that chat templates use.
nlohmann::json gguf_special_tokens(const Config& config) {
  nlohmann::json special = nlohmann::json::object();
  const nlohmann::json* texts = config.find("tokenizer.ggml.tokens");
  if (texts == nullptr || !texts->is_array()) return special;
  for (const char* name : {"bos", "eos"}) {
    const nlohmann::json* id = config.find(("tokenizer.ggml." + std::string(name) + "_token_id").c_str());
    if (id == nullptr || !id->is_number_unsigned() || id->get<uint64_t>() >= texts->size()) continue;
    special[std::string(name) + "_token"] = (*texts)[id->get<size_t>()];
  }
  return special;
}

// Returns the value of "license" in the YAML lines at the start of a model card, or of "license_name" if the licence
// has no identifier. Returns an empty text if there is none.
std::string license_of_card(std::string_view text) {
  std::string license, name;
  if (!text.starts_with("---")) return license;
  text.remove_prefix(std::min(text.size(), text.find('\n')));
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with("---")) break;
    const size_t colon = line.find(':');
    const size_t begin = colon == std::string_view::npos ? colon : line.find_first_not_of(" '\"", colon + 1);
    if (begin != std::string_view::npos) {
      const size_t end = line.find_last_not_of(" '\"\r") + 1;
      const std::string value(line.substr(begin, end > begin ? end - begin : 0));
      if (line.substr(0, colon) == "license") license = value;
      if (line.substr(0, colon) == "license_name") name = value;
    }
    text.remove_prefix(line.size());
  }
  return license == "other" && !name.empty() ? name : license;
}

}  // namespace

void read_description(const std::filesystem::path& directory, CheckpointInfo& info, std::vector<std::string>& notes) {
  const auto find = [&](const char* name) {
    const std::filesystem::path path = directory / name;
    return std::filesystem::is_regular_file(path) ? path : std::filesystem::path();
  };
  if (const auto path = find("generation_config.json"); !path.empty()) read_generation_config(path, info, notes);
  // The tokenizer of GPT-2 in transformers has these tokens by default.
  nlohmann::json special_tokens = {{"bos_token", "<|endoftext|>"}, {"eos_token", "<|endoftext|>"}};
  if (const auto map = find("special_tokens_map.json"); !map.empty()) read_special_tokens(Config(map), special_tokens);
  const auto template_file = find("chat_template.jinja");
  if (!template_file.empty())
    info.chat_template = checked_utf8(template_file, read_text_file(template_file, kTextLimit));
  if (const auto path = find("tokenizer_config.json"); !path.empty()) {
    const Config config(path);
    read_special_tokens(config, special_tokens);
    if (template_file.empty()) info.chat_template = chat_template(config);
  }
  info.chat_format = find_chat_format(info.chat_template, special_tokens, notes);
  if (const auto path = find("README.md"); !path.empty()) {
    if (std::filesystem::file_size(path) > kTextLimit) {
      notes.push_back("README.md has more than " + std::to_string(kTextLimit) + " bytes; no licence is read from it");
    } else {
      info.license = checked_utf8(path, license_of_card(read_text_file(path, kTextLimit)));
    }
  }
}

void read_gguf_description(const Config& config, CheckpointInfo& info, std::vector<std::string>& notes) {
  info.license = config.text("general.license", "");
  info.chat_template = config.text("tokenizer.chat_template", "");
  info.chat_format = find_chat_format(info.chat_template, gguf_special_tokens(config), notes);
  info.sampling = read_sampling(config, SamplingKeys::kGguf);
  check_sampling(config, info.sampling);
  for (const char* key :
       {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    const uint32_t token = config.count(key, nullptr, info.shape.vocabulary_size);
    if (token < info.shape.vocabulary_size) info.add_end_of_text(static_cast<int32_t>(token));
  }
}

}  // namespace sotto
