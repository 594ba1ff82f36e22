// The vocabulary of a model, for use with grammars.
//
// Building a vocabulary sorts all tokens and takes about a megabyte of memory. The converter can do this once and write
// the arrays to a section of the model file. The section is then used in place, after a verification in linear time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/grammar/vocabulary/vocabulary.h"
#include "runtime/model/model_view.h"

namespace sotto {

// Returns the source of a tokenizer's tokens. Special and unused tokens have no text. The tokenizer and `end_tokens`
// must outlive the source.
VocabularySource vocabulary_source(const TokenizerView& tokenizer, std::span<const int32_t> end_tokens);

// Like measure_vocabulary() and create_vocabulary(), but use a prepared vocabulary in the file in place. The model must
// outlive the vocabulary. Returns kTokenizerMissing if the model's tokens have no bytes, and kModelCorrupt if the
// prepared section is not the vocabulary of this model.
Status measure_model_vocabulary(const ModelView& model, size_t* size, Error* error);
Status create_model_vocabulary(const ModelView& model, void* memory, size_t memory_size, Vocabulary** vocabulary,
                               Error* error);

// Version of the section, which increases with every change to TrieNode or the arrays. Its upper half is the version of
// the text summaries.
inline constexpr uint32_t kPreparedVersion = kPrefilterVersion << 16 | 1;

// The vocabulary section of a model file.
struct PreparedVocabulary {
  uint32_t text_count = 0;
  uint32_t node_count = 0;
  uint32_t longest = 0;
  std::span<const uint8_t> arrays;  // aligned to 64 bytes
};

// Returns the bytes of the arrays.
size_t prepared_vocabulary_size(uint32_t token_count, size_t text_count, size_t node_count);

// Verifies that arrays, which may come from an untrusted file, equal those that build_vocabulary() would make from the
// source, and otherwise returns kModelCorrupt. The vocabulary refers to the arrays and the source.
Status open_prepared_vocabulary(const VocabularySource& source, const PreparedVocabulary& prepared,
                                Vocabulary* vocabulary, Error* error);

}  // namespace sotto
