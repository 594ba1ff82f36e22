// Compiled grammars as files: a FlatBuffer (grammar.fbs) around the block of a compiled grammar, written without extra
// memory and used in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/grammar/compiler/compiled_grammar.h"

namespace sotto {

// Increases with every change of CompiledGrammar or of the meaning of its parts, character classes included.
inline constexpr uint32_t kGrammarVersion = 3;

size_t grammar_image_size(const CompiledGrammar& grammar);
// `image` has grammar_image_size() bytes.
void write_grammar_image(const CompiledGrammar& grammar, uint8_t* image);

// Verifies an image that may come from anyone. `image` is aligned to kMemoryAlignment and outlives `*grammar`, which
// points into it. Failure: kMemoryMisaligned, kGrammarCorrupt.
Status open_grammar_image(std::span<const uint8_t> image, const CompiledGrammar** grammar, Error* error);

}  // namespace sotto
