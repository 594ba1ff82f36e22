// Vocabularies that the converter has prepared: a section of the model file, used in place.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/grammar/vocabulary/vocabulary.h"

namespace sotto {

// Raised with every change of TrieNode or of the arrays; in the upper half, as the kinds of
// text count as well.
inline constexpr uint32_t kPreparedVersion = kPrefilterVersion << 16 | 1;

struct PreparedVocabulary {
  uint32_t text_count = 0;
  uint32_t node_count = 0;
  uint32_t longest = 0;
  std::span<const uint8_t> arrays;  // 64-byte aligned
};

// Bytes of the arrays.
size_t prepared_vocabulary_size(uint32_t token_count, size_t text_count, size_t node_count);

// Checks that the arrays, which may come from anyone, are those that build_vocabulary makes of
// the source, in time linear in their size, and refers to both. Failure: kModelCorrupt.
Status open_prepared_vocabulary(const VocabularySource& source, const PreparedVocabulary& prepared,
                                Vocabulary* vocabulary, Error* error);

}  // namespace sotto
