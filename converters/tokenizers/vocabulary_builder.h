// Builds the arrays of a model file's vocabulary section, for grammars.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "converters/tokenizers/builder.h"

namespace sotto {

// The arrays that PreparedVocabulary (runtime/grammar/vocabulary/model_vocabulary.h) refers to.
struct VocabularyData {
  uint32_t text_count = 0;
  uint32_t node_count = 0;
  uint32_t longest = 0;
  std::vector<uint8_t> arrays;
};

// Returns nullopt if grammars cannot use these tokens because one is longer than 255 bytes.
std::optional<VocabularyData> build_vocabulary_data(const TokenizerData& tokenizer, int32_t end_token);

}  // namespace sotto
