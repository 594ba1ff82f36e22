// Compiled grammars as files: a FlatBuffer (grammar.fbs) around the block of memory that a
// compiled grammar is, written without memory of its own and used in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/grammar/compiler/compiled_grammar.h"

namespace sotto {

// Raised with every change of CompiledGrammar or of what its parts mean, classes of characters
// (slices.h) among them.
inline constexpr uint32_t kGrammarVersion = 3;

size_t grammar_image_size(const CompiledGrammar& grammar);
// `image` has room for grammar_image_size bytes.
void write_grammar_image(const CompiledGrammar& grammar, uint8_t* image);

// Verifies an image that may come from anyone. `image` is aligned to kMemoryAlignment and
// outlives `*grammar`, which lies in it. Failure: kMemoryMisaligned, kGrammarCorrupt.
Status open_grammar_image(std::span<const uint8_t> image, const CompiledGrammar** grammar, Error* error);

}  // namespace sotto
