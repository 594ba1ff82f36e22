// Compiles the source of a grammar in any of the languages. The .cpp file has a table of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/generated/params.h"
#include "runtime/grammar/compiler/compiler.h"
#include "runtime/grammar/gbnf/parser.h"

namespace sotto {

// Compiles in `memory`, which must be aligned to 8. The resulting grammar is at the beginning of the memory and has
// `(*grammar)->size()` bytes. Errors contain the offset in the text if it is known. After the compilation, warnings are
// written to the log of the parameters.
Status compile_source(std::span<const char> text, const GrammarParams& given, std::span<uint8_t> memory,
                      CompiledGrammar** grammar, Error* error);

// Returns a size of memory that suffices for most sources of this size.
size_t typical_compile_memory(size_t source_size);

// Returns the lookup of token literals in a vocabulary. The vocabulary must outlive it. A null one has no tokens.
TokenNames token_names(const Vocabulary* vocabulary);

}  // namespace sotto
