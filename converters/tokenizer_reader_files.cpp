#include "converters/tokenizer_reader_files.h"

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

void add_vocabulary(const json& vocabulary, TokenizerNames* names) {
  if (!vocabulary.is_object()) throw std::runtime_error("the vocabulary is not a JSON object");
  for (const auto& [name, id] : vocabulary.items()) {
    if (!id.is_number_integer()) {
      throw std::runtime_error("the id of token " + in_quotes(name) + " is not an integer");
    }
    names->add_token(name, id.get<int64_t>());
  }
}

void check_plain_match(const json& token, const std::string& text) {
  for (const char* flag : {"lstrip", "rstrip", "single_word"}) {
    if (!token.value(flag, false)) continue;
    throw std::runtime_error("added token " + in_quotes(text) + " has " + flag +
                             ", which is not supported");
  }
}

}  // namespace sotto
