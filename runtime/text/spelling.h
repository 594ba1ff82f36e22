// The tokens of a vocabulary that begin with given bytes or spell a part of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/model/tokenizer_view.h"

namespace sotto {

// Returns the tokens that begin with `prefix`, in order of their bytes.
std::span<const uint32_t> find_with_prefix(const TokenizerView& tokenizer, std::span<const char> prefix);

// Spells `text` with tokens, taking the longest possible one each time, and returns their number, or 0 if the
// vocabulary cannot spell the text or `tokens` is too small.
size_t spell(const TokenizerView& tokenizer, std::span<const char> text, std::span<int32_t> tokens);

}  // namespace sotto
