// Translates the pre-tokenizer of tokenizer.json to steps of the runtime (runtime/text/splitter.h).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "converters/tokenizers/characters.h"
#include "runtime/model/tokenizer_view.h"

namespace sotto {

// A pre-tokenizer: the steps that split a text, and what it implies for the names of tokens.
struct PreTokenizer {
  bool is_byte_level = false;    // tokens have names in the byte alphabet
  bool removes_space = false;    // white space is not part of any piece
  std::string space;             // symbol for a space in the names of tokens, or empty
  CharacterSet bare_characters;  // characters that form a word without a space before or after it
  PrefixSpace prefix_space = PrefixSpace::kNever;
  std::vector<uint32_t> split_steps;
};

struct PreTokenizerOptions {
  bool isolates_chinese = false;  // set by BertNormalizer with handle_chinese_chars
  bool has_bare_words = false;    // true if Chinese characters and .,!? have no space before them
};

// Throws a std::runtime_error that names the component if the runtime cannot split in the same way.
PreTokenizer read_pre_tokenizer(const nlohmann::json& component, const PreTokenizerOptions& options);

}  // namespace sotto
