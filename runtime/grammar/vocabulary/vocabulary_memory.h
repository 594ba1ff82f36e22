// Vocabularies in memory of the caller: how much they need, told without any memory, and the
// object itself.
#pragma once

#include <cstddef>

#include "runtime/grammar/vocabulary/vocabulary.h"

namespace sotto {

// Set aside for the object itself, on every platform: memory sizes are part of the API.
inline constexpr size_t kVocabularyBytes = 256;
static_assert(sizeof(Vocabulary) <= kVocabularyBytes);

// Exact up to 2^18 tokens with text; above that, enough.
Status measure_vocabulary(const VocabularySource& source, size_t* size, Error* error);

// `memory`: 64-byte aligned. Refers to the source's arrays, but for its end tokens.
Status place_vocabulary(const VocabularySource& source, void* memory, size_t memory_size, Vocabulary** vocabulary,
                        Error* error);

}  // namespace sotto
