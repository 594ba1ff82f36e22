// Translates the normalizers of tokenizer.json and of SentencePiece to the tables that the runtime applies
// (runtime/text/normalizer.h).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "converters/tokenizers/builder.h"
#include "converters/tokenizers/characters.h"

namespace sotto {

// A normalizer: its tables, and what it implies for the names of tokens.
struct Normalizer {
  NormalizerData tables;
  std::string space;  // replacement of a space in the names of tokens, or empty
  bool prepends_space = false;
};

// Reads the normalizer of tokenizer.json. `space` is the character that the pre-tokenizer substitutes for spaces, or
// empty. Throws a std::runtime_error that names the component if the runtime cannot reproduce it.
Normalizer read_normalizer(const nlohmann::json& component, const std::string& space);

// Reads the compiled rules of SentencePiece ("precompiled_charsmap"), which may be empty.
void read_rules(std::string_view charsmap, NormalizerData* tables);

// Returns whether a normalizer puts spaces around Chinese characters.
bool isolates_chinese(const nlohmann::json& component);

// Returns the characters that BertNormalizer takes for Chinese.
CharacterSet chinese_characters();

}  // namespace sotto
