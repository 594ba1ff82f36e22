#include "converters/tokenizers/tokenizer_reader_files.h"

#include <limits>
#include <stdexcept>

#include "converters/file.h"
#include "converters/strict_json.h"

namespace sotto {

using nlohmann::json;

namespace {
constexpr uint64_t kLargestFile = uint64_t{256} << 20;
}

json read_json_object(const std::filesystem::path& path) {
  json value = parse_strict_json(read_text_file(path, kLargestFile), path.string());
  if (!value.is_object()) throw std::runtime_error(path.string() + ": not a JSON object");
  return value;
}

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

bool flag_member(const json& object, const char* key) {
  const json& value = find_member(object, key);
  if (value.is_null()) return false;
  if (!value.is_boolean()) throw std::runtime_error(in_quotes(key) + " is neither true nor false");
  return value.get<bool>();
}

int64_t token_id(const json& id, const std::string& text) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  const bool is_too_large = id.is_number_unsigned() && id.get<uint64_t>() > kMost;
  if (id.is_number_integer() && !is_too_large) return id.get<int64_t>();
  throw std::runtime_error("the id of token " + in_quotes(text) + " is " + id.dump() + ", not an integer in range");
}

void add_vocabulary(const json& vocabulary, TokenizerNames* names) {
  if (!vocabulary.is_object()) throw std::runtime_error("the vocabulary is not a JSON object");
  for (const auto& [name, id] : vocabulary.items()) {
    names->add_token(name, token_id(id, name));
  }
}

void check_plain_match(const json& token, const std::string& text) {
  for (const char* flag : {"lstrip", "rstrip", "single_word"}) {
    if (!flag_member(token, flag)) continue;
    throw std::runtime_error("added token " + in_quotes(text) + " has " + flag + ", which is not supported");
  }
}

}  // namespace sotto
