// The vocabulary of a model, for grammars.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/grammar/vocabulary/vocabulary.h"
#include "runtime/model/model_view.h"

namespace sotto {

// Special and unused tokens have no text; `end_token`, if it is not negative, is the end token
// and outlives the source, as the tokenizer does.
VocabularySource vocabulary_source(const TokenizerView& tokenizer, const int32_t& end_token);

// As measure_vocabulary and place_vocabulary, but for files that hold their vocabulary
// prepared: these are used in place. The model must outlive the vocabulary.
// kTokenizerMissing: the model's tokens have no bytes. kModelCorrupt: what is prepared is not
// the vocabulary of this model.
Status measure_model_vocabulary(const ModelView& model, size_t* size, Error* error);
Status place_model_vocabulary(const ModelView& model, void* memory, size_t memory_size, Vocabulary** vocabulary,
                              Error* error);

}  // namespace sotto
