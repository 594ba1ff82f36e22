// Byte-level BPE as GPT-2 defines it (Radford et al. 2019): text -> token ids. Works on
// the model file's arrays in place and allocates nothing. Threads: const, shareable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/model/tokenizer_view.h"

namespace sotto {

struct EncodeOptions {
  bool parse_special = false;  // text of TokenKind::kSpecial becomes that token
};

// Encodes UTF-8 `text` into `tokens`. `*count`: tokens written, or on kBufferTooSmall a
// capacity that suffices: at most text.size(), twice that with add_prefix_space. It is
// more than the final count only for words beyond 256 bytes, whose search may need room
// for one token a byte.
Status encode(const TokenizerView& tokenizer, std::span<const char> text, EncodeOptions options,
              std::span<int32_t> tokens, size_t* count, Error* error);

}  // namespace sotto
