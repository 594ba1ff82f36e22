// The forms of a tokenizer on disk, and what their readers share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "converters/tokenizers/tokenizer_builder.h"
#include "converters/tokenizers/tokenizer_reader_names.h"

namespace sotto {

TokenizerData read_tokenizer_json(const std::filesystem::path& path, uint32_t vocabulary_size);
TokenizerData read_vocabulary_and_merges(const std::filesystem::path& vocabulary, const std::filesystem::path& merges,
                                         uint32_t vocabulary_size);

nlohmann::json read_json_object(const std::filesystem::path& path);

// A member of an object, null if it is absent.
const nlohmann::json& find_member(const nlohmann::json& object, const char* key);

// Each throws a message that names what is of another type.
std::string text_member(const nlohmann::json& object, const char* key);
bool flag_member(const nlohmann::json& object, const char* key);  // absent and null: false
int64_t token_id(const nlohmann::json& id, const std::string& text);

// A dictionary of names and ids.
void add_vocabulary(const nlohmann::json& vocabulary, TokenizerNames* names);

// Throws if a description of an added token asks for more than its text to be matched.
void check_plain_match(const nlohmann::json& token, const std::string& text);

// Runs `read`, prefixing whatever it throws with `path`.
template <typename Read>
auto with_path(const std::filesystem::path& path, Read read) {
  try {
    return read();
  } catch (const std::exception& error) {
    throw std::runtime_error(path.string() + ": " + error.what());
  }
}

}  // namespace sotto
