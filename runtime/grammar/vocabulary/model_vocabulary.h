// The vocabulary of a model, for grammars.
//
// Building a vocabulary sorts all tokens and needs about a megabyte. The converter can do that once and write the
// arrays to the model file as a section, which is then used in place: it is only verified, in time linear in its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/grammar/vocabulary/vocabulary.h"
#include "runtime/model/model_view.h"

namespace sotto {

// Makes the source of a tokenizer's tokens. Special and unused tokens have no text. `end_token`, if it is not negative,
// is the end token; it must outlive the source, as the tokenizer must.
VocabularySource vocabulary_source(const TokenizerView& tokenizer, const int32_t& end_token);

// As measure_vocabulary and place_vocabulary, but a vocabulary prepared in the file is used in place. The model must
// outlive the vocabulary. kTokenizerMissing: the model's tokens have no bytes. kModelCorrupt: the prepared section is
// not the vocabulary of this model.
Status measure_model_vocabulary(const ModelView& model, size_t* size, Error* error);
Status place_model_vocabulary(const ModelView& model, void* memory, size_t memory_size, Vocabulary** vocabulary,
                              Error* error);

// Increased with every change of TrieNode or of the arrays; the upper half is the version of the text summaries.
inline constexpr uint32_t kPreparedVersion = kPrefilterVersion << 16 | 1;

struct PreparedVocabulary {
  uint32_t text_count = 0;
  uint32_t node_count = 0;
  uint32_t longest = 0;
  std::span<const uint8_t> arrays;  // 64-byte aligned
};

// Returns the bytes of the arrays.
size_t prepared_vocabulary_size(uint32_t token_count, size_t text_count, size_t node_count);

// Checks that the arrays, which may come from an untrusted file, are those that build_vocabulary makes of the source,
// and refers to both. kModelCorrupt: they are not.
Status open_prepared_vocabulary(const VocabularySource& source, const PreparedVocabulary& prepared,
                                Vocabulary* vocabulary, Error* error);

}  // namespace sotto
