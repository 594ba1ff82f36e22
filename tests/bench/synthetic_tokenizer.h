// A tokenizer of any size with made-up merges, so that loading and encoding cost what they
// cost with a trained one of that size.
#pragma once

#include <cstdint>

#include "converters/tokenizers/builder.h"

namespace sotto::bench {

// Makes a tokenizer of at least 257 tokens: the bytes, then joins of earlier tokens, mostly letters; the last token is
// special. Deterministic.
TokenizerData make_synthetic_tokenizer(uint32_t vocabulary_size);

}  // namespace sotto::bench
