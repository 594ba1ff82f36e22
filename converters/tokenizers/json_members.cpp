#include "converters/tokenizers/json_members.h"

#include <limits>
#include <stdexcept>

#include "converters/file.h"

namespace sotto {

using nlohmann::json;

const json& find_member(const json& object, const char* key) {
  static const json null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

std::string text_member(const json& object, const char* key) {
  const json& value = find_member(object, key);
  if (!value.is_string()) throw std::runtime_error(in_quotes(key) + " is not a string");
  return value.get<std::string>();
}

bool flag_member(const json& object, const char* key, bool otherwise) {
  const json& value = find_member(object, key);
  if (value.is_null()) return otherwise;
  if (!value.is_boolean()) throw std::runtime_error(in_quotes(key) + " is neither true nor false");
  return value.get<bool>();
}

std::string type_of(const json& component) {
  const json& type = find_member(component, "type");
  return type.is_string() ? type.get<std::string>() : component.dump();
}

int64_t token_id(const json& id, const std::string& text) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  const bool is_too_large = id.is_number_unsigned() && id.get<uint64_t>() > kMax;
  if (id.is_number_integer() && !is_too_large) return id.get<int64_t>();
  throw std::runtime_error("the id of token " + in_quotes(text) + " is " + id.dump() + ", not an integer in range");
}

void check_plain_match(const json& token, const std::string& text) {
  for (const char* flag : {"lstrip", "rstrip", "single_word"}) {
    if (!flag_member(token, flag)) continue;
    throw std::runtime_error("added token " + in_quotes(text) + " has " + flag + ", which is not supported");
  }
}

void reject(const std::string& feature) { throw std::runtime_error(feature + " is not supported"); }

}  // namespace sotto
