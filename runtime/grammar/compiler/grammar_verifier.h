// Checks a compiled grammar that may come from anyone: whatever passes is harmless to every
// matcher. What only decides which texts it has is left to its author.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/grammar/compiler/compiled_grammar.h"

namespace sotto {

// In time linear in the block's size. Failure: kGrammarCorrupt.
Status verify_grammar(std::span<const uint8_t> block, const CompiledGrammar** grammar, Error* error);

}  // namespace sotto
