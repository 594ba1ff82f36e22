// The normalizer of tokenizer.json as a table of characters (runtime/text/normalizer.h).
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "converters/tokenizers/characters.h"

namespace sotto {

struct Normalizer {
  CharacterSet removed;
  std::map<uint32_t, std::string> replacements;  // of code points by UTF-8
  std::string space;                             // replacement of a space, or empty
  bool prepends_space = false;
  bool isolates_chinese = false;  // true if each Chinese character is a word
};

// Throws std::runtime_error, which names the component, if the result for a character depends on its neighbours or the
// runtime cannot reproduce it for another reason.
Normalizer read_normalizer(const nlohmann::json& component);

// Returns the characters that BertNormalizer takes for Chinese.
CharacterSet chinese_characters();

}  // namespace sotto
