#include "runtime/grammar/model_vocabulary.h"

#include "runtime/grammar/vocabulary_memory.h"

namespace sotto {
namespace {

Status find_source(const ModelView& model, VocabularySource* source, Error* error) {
  const TokenizerView* tokenizer = model.tokenizer();
  if (tokenizer == nullptr) {
    return fail(error, Status::kTokenizerMissing, "the model has no tokenizer");
  }
  static_assert(TokenKind::kSpecial < TokenKind::kUnused && TokenKind::kAdded < TokenKind::kSpecial);
  source->bytes = tokenizer->token_bytes;
  source->offsets = tokenizer->token_offsets;
  source->special = {reinterpret_cast<const uint8_t*>(tokenizer->token_kinds.data()),
                     tokenizer->token_kinds.size()};
  source->least_special = static_cast<uint8_t>(TokenKind::kSpecial);
  const int32_t& end = model.config().end_of_text_token;
  source->end_tokens = {&end, end < 0 ? size_t{0} : size_t{1}};
  return Status::kOk;
}

}  // namespace

Status measure_model_vocabulary(const ModelView& model, size_t* size, Error* error) {
  VocabularySource source;
  SOTTO_TRY(find_source(model, &source, error));
  return measure_vocabulary(source, size, error);
}

Status place_model_vocabulary(const ModelView& model, void* memory, size_t memory_size,
                              Vocabulary** vocabulary, Error* error) {
  VocabularySource source;
  SOTTO_TRY(find_source(model, &source, error));
  return place_vocabulary(source, memory, memory_size, vocabulary, error);
}

}  // namespace sotto
