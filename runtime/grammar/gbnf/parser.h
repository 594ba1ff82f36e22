// Reads GBNF, the grammar language of llama.cpp with the extensions people use, into a
// GrammarBuilder.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/grammar/compiler/grammar_builder.h"

namespace sotto {

// How token literals find their tokens.
struct TokenNames {
  const void* self = nullptr;
  uint32_t token_count = 0;  // 0: the grammar may hold no token literals
  // kNone: no token has this text.
  uint32_t (*find)(const void* self, std::span<const char> text) = nullptr;
};

// Errors name line:column, counted from 1 in characters, and the text there. Rules that are
// mentioned but not defined are errors, too.
Status parse_gbnf(std::span<const char> text, const TokenNames& names, GrammarBuilder& builder, Error* error);

}  // namespace sotto
