#include "runtime/grammar/vocabulary/model_vocabulary.h"

#include <new>

#include "runtime/grammar/vocabulary/prepared_vocabulary.h"
#include "runtime/grammar/vocabulary/vocabulary_memory.h"

namespace sotto {
namespace {

Status find_source(const ModelView& model, VocabularySource* source, Error* error) {
  const TokenizerView* tokenizer = model.tokenizer();
  if (tokenizer == nullptr) {
    return fail(error, Status::kTokenizerMissing, "the model has no tokenizer");
  }
  *source = vocabulary_source(*tokenizer, model.config().end_of_text_token);
  return Status::kOk;
}

// False: the file holds none, or one of another version, which is made anew.
bool find_prepared(const ModelView& model, PreparedVocabulary* prepared) {
  VocabularySection section;
  if (!model.find_vocabulary(&section) || section.version != kPreparedVersion) return false;
  *prepared = {section.text_count, section.node_count, section.longest, {section.arrays.bytes, section.arrays.size}};
  return true;
}

}  // namespace

VocabularySource vocabulary_source(const TokenizerView& tokenizer, const int32_t& end_token) {
  static_assert(TokenKind::kAdded < TokenKind::kSpecial && TokenKind::kSpecial < TokenKind::kUnused);
  VocabularySource source;
  source.bytes = tokenizer.token_bytes;
  source.offsets = tokenizer.token_offsets;
  source.special = {reinterpret_cast<const uint8_t*>(tokenizer.token_kinds.data()), tokenizer.token_kinds.size()};
  source.least_special = static_cast<uint8_t>(TokenKind::kSpecial);
  source.end_tokens = {&end_token, end_token < 0 ? size_t{0} : size_t{1}};
  return source;
}

Status measure_model_vocabulary(const ModelView& model, size_t* size, Error* error) {
  VocabularySource source;
  SOTTO_TRY(find_source(model, &source, error));
  PreparedVocabulary prepared;
  if (!find_prepared(model, &prepared)) return measure_vocabulary(source, size, error);
  *size = kVocabularyBytes;
  return Status::kOk;
}

Status place_model_vocabulary(const ModelView& model, void* memory, size_t memory_size, Vocabulary** vocabulary,
                              Error* error) {
  VocabularySource source;
  SOTTO_TRY(find_source(model, &source, error));
  PreparedVocabulary prepared;
  if (!find_prepared(model, &prepared)) {
    return place_vocabulary(source, memory, memory_size, vocabulary, error);
  }
  if (memory_size < kVocabularyBytes) {
    return fail(error, Status::kMemoryTooSmall, "the vocabulary needs ", kVocabularyBytes, " bytes, got ", memory_size);
  }
  Vocabulary opened;
  SOTTO_TRY(open_prepared_vocabulary(source, prepared, &opened, error));
  *vocabulary = new (memory) Vocabulary(opened);
  return Status::kOk;
}

}  // namespace sotto
