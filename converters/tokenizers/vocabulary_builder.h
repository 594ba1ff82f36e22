// Builds the arrays of a model file's vocabulary section, for grammars.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "converters/tokenizers/tokenizer_builder.h"

namespace sotto {

// What PreparedVocabulary (runtime/grammar/vocabulary/prepared_vocabulary.h) views.
struct VocabularyData {
  uint32_t text_count = 0;
  uint32_t node_count = 0;
  uint32_t longest = 0;
  std::vector<uint8_t> arrays;
};

// Nothing if grammars cannot use these tokens: one is longer than 255 bytes.
std::optional<VocabularyData> build_vocabulary_data(const TokenizerData& tokenizer, int32_t end_token);

}  // namespace sotto
