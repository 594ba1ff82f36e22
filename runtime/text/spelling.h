// The tokens of a vocabulary that begin with given bytes or spell a part of them.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/model/tokenizer_view.h"

namespace sotto {

// Returns the tokens that begin with `prefix`, in order of their bytes.
std::span<const uint32_t> find_with_prefix(const TokenizerView& tokenizer, std::span<const char> prefix);

// Returns the longest token that spells a prefix of `text`, or -1 if there is none. `text` must not be empty.
int32_t find_longest_token(const TokenizerView& tokenizer, std::span<const char> text);

}  // namespace sotto
