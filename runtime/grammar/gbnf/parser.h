// The parser of GBNF, the grammar notation of llama.cpp, with repetition counts such as {2,5} and token literals:
// <text>, <[5]>, ranges <[1-9]> and complements !<[5]>. The parser does not recurse; an explicit stack contains the
// open parentheses.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/grammar/compiler/grammar_builder.h"

namespace sotto {

// The lookup of token literals.
struct TokenNames {
  const void* self = nullptr;
  uint32_t token_count = 0;  // 0 if the grammar may not contain token literals
  // Returns kNoIndex if no token has this text.
  uint32_t (*find)(const void* self, std::span<const char> text) = nullptr;
  // The tokens that end a text. Ranges and complements do not contain them, but a literal may name one of them.
  std::span<const int32_t> end_tokens = {};
};

// Parses `text`. Errors contain the line and the column, counted from 1 in characters, and the text there. It is an
// error to use a rule without defining it. The builder may already contain rules without names.
Status parse_gbnf(std::span<const char> text, const TokenNames& names, GrammarBuilder& builder, Error* error);

}  // namespace sotto
