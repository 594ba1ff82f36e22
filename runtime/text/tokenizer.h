// Tokenization: from text to token ids. encode() works on the arrays of the model file in place, allocates nothing, and
// may be called from several threads. README.md has the steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/model/tokenizer_view.h"

namespace sotto {

// Options of encode().
struct EncodeOptions {
  bool parse_special = false;  // true if the text of a special token becomes that token
};

// Encodes UTF-8 `text` into `tokens` and stores their number in `*count`. On kBufferTooSmall, `*count` is a sufficient
// capacity: for kByteBpe at most text.size(), or twice that with a prefix_space. This capacity exceeds the number of
// tokens only if a word has more than 256 bytes or a normalized text more than 1024, because these are processed in the
// buffer.
Status encode(const TokenizerView& tokenizer, std::span<const char> text, EncodeOptions options,
              std::span<int32_t> tokens, size_t* count, Error* error);

}  // namespace sotto
