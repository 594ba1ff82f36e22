// The capacities of a matcher's memory. All of it is reserved at init.
#pragma once

#include <cstdint>

#include "runtime/generated/params.h"
#include "runtime/grammar/compiler/compiled_grammar.h"

namespace sotto {

// Returns `given`, with zeros replaced by estimates that suffice for fast operation unless the grammar is very
// ambiguous. `token_count` is the size of the vocabulary, or 0 without one.
MatcherParams resolve_limits(const MatcherParams& given, const CompiledGrammar& grammar, uint32_t token_count);

}  // namespace sotto
