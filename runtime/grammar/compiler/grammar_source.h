// From the source text of a grammar, in any language, to the compiled grammar. The languages are a table in the source
// file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/generated/params.h"
#include "runtime/grammar/compiler/compiler.h"
#include "runtime/grammar/gbnf/parser.h"

namespace sotto {

// Compiles in `memory`, aligned to 8. The grammar is at its beginning then, `(*grammar)->size()` bytes. Errors carry
// the offset in the text where one is known.
Status compile_source(std::span<const char> text, const GrammarParams& params, const RuleWarnings& warnings,
                      std::span<uint8_t> memory, const CompiledGrammar** grammar, Error* error);

// Returns how much memory is enough for most sources of that size.
size_t typical_compile_memory(size_t source_size);

// Finds the tokens of token literals in the vocabulary, which must outlive the result; null: there are no tokens.
TokenNames token_names(const Vocabulary* vocabulary);

}  // namespace sotto
