#include "converters/readers/config.h"

#include <limits>
#include <stdexcept>
#include <utility>

#include "converters/file.h"
#include "runtime/model/model_view.h"

namespace sotto {
namespace {

using nlohmann::json;

constexpr uint64_t kConfigLimit = 10'000'000;

}  // namespace

Config::Config(const std::filesystem::path& path)
    : Config(path.string(), parse_strict_json(read_text_file(path, kConfigLimit), path.string())) {}

Config::Config(std::string where, json root) : where_(std::move(where)), root_(std::move(root)) {
  if (!root_.is_object()) throw std::runtime_error(where_ + ": not a JSON object");
}

void Config::fail(const std::string& key, const std::string& message) const {
  throw std::runtime_error(where_ + ": " + in_quotes(key) + " " + message);
}

const json* Config::find(const char* key, const char* alias) const {
  const auto found = root_.find(key);
  if (found != root_.end() && !found->is_null()) return &*found;
  return alias == nullptr ? nullptr : find(alias);
}

Config Config::object(const char* key) const {
  const json* value = find(key);
  if (value == nullptr || !value->is_object()) fail(key, "is not an object");
  return {where_ + ": " + in_quotes(key), *value};
}

uint32_t Config::count(const char* key, const char* alias, uint32_t otherwise) const {
  const json* value = find(key, alias);
  if (value == nullptr) return otherwise;
  if (!value->is_number_unsigned() || value->get<uint64_t>() > std::numeric_limits<int32_t>::max()) {
    fail(key, "is " + value->dump() + ", not a count");
  }
  return value->get<uint32_t>();
}

bool Config::flag(const char* key, bool otherwise) const {
  const json* value = find(key);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) fail(key, "is neither true nor false");
  return value->get<bool>();
}

std::string Config::text(const char* key, const char* otherwise) const {
  const json* value = find(key);
  if (value == nullptr) return otherwise;
  if (!value->is_string()) fail(key, "is not a string");
  return value->get<std::string>();
}

double Config::number(const char* key, double otherwise) const {
  const json* value = find(key);
  if (value == nullptr) return otherwise;
  if (!value->is_number()) fail(key, "is not a number");
  return value->get<double>();
}

float Config::epsilon(const char* key, float otherwise) const {
  const double number = this->number(key, otherwise);
  if (!(number >= std::numeric_limits<float>::min()) || number > 1) {
    fail(key, "is " + find(key)->dump() + ", not a number in (0, 1]");
  }
  return static_cast<float>(number);
}

Activation Config::activation(const char* key, const char* otherwise) const {
  const std::string name = text(key, otherwise);
  if (const auto activation = find_activation(name)) return *activation;
  fail(key, "is " + in_quotes(name) + "; supported are " + activation_names());
}

bool Config::read_end_of_text(CheckpointInfo& info, std::vector<std::string>& notes) const {
  constexpr const char* kKey = "eos_token_id";
  const json* value = find(kKey);
  if (value == nullptr) return false;
  for (const json& token : value->is_array() ? *value : json::array({*value})) {
    if (!token.is_number_integer()) fail(kKey, "is not a token id");
    if (token < 0 || token >= info.shape.vocabulary_size) {
      notes.push_back("the end-of-text token " + token.dump() + " is outside the vocabulary and is ignored");
      continue;
    }
    info.add_end_of_text(token.get<int32_t>());
  }
  if (const size_t count = info.end_of_text_tokens().size(); count > ModelLimits::kEndTokens) {
    fail(kKey, "makes the end-of-text tokens " + std::to_string(count) + "; a model can have at most " +
                   std::to_string(ModelLimits::kEndTokens));
  }
  return true;
}

}  // namespace sotto
