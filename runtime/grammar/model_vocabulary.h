// The vocabulary of a model, for grammars.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/grammar/vocabulary.h"
#include "runtime/model/model_view.h"

namespace sotto {

// As measure_vocabulary and place_vocabulary. Special and unused tokens have no text; the
// end-of-text token is the end token. The model must outlive the vocabulary.
// kTokenizerMissing: the model's tokens have no bytes.
Status measure_model_vocabulary(const ModelView& model, size_t* size, Error* error);
Status place_model_vocabulary(const ModelView& model, void* memory, size_t memory_size,
                              Vocabulary** vocabulary, Error* error);

}  // namespace sotto
