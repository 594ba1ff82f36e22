// A tokenizer of any size with made-up merges, so that loading and encoding cost what they
// cost with a trained one of that size.
#pragma once

#include <cstdint>

#include "converters/tokenizers/builder.h"

namespace sotto::bench {

// Of 257 tokens or more: the bytes, then joins of earlier tokens, letters mostly, the last
// token being special. The same every time.
TokenizerData make_synthetic_tokenizer(uint32_t vocabulary_size);

}  // namespace sotto::bench
