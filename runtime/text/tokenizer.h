// Byte-level BPE as GPT-2 defines it (Radford et al. 2019), from text to token ids. It works on the arrays of the model
// file in place, allocates nothing, and may be called from several threads.
//
// The text is cut at added tokens, which are matched as literal text. The parts between them are split into words
// (pre_tokenizer.h), and each word is encoded separately (bpe.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/model/tokenizer_view.h"

namespace sotto {

// Options of encode().
struct EncodeOptions {
  bool parse_special = false;  // whether the text of a special token becomes that token
};

// Encodes UTF-8 `text` into `tokens` and stores the number of tokens in `*count`. On kBufferTooSmall, `*count` is a
// sufficient capacity: at most text.size(), or twice that with add_prefix_space. It can exceed the actual number of
// tokens only if a word has more than 256 bytes, because the search for its tokens may need one entry per byte.
Status encode(const TokenizerView& tokenizer, std::span<const char> text, EncodeOptions options,
              std::span<int32_t> tokens, size_t* count, Error* error);

}  // namespace sotto
