// The file format of compiled grammars. An image is a FlatBuffer (grammar.fbs) that contains the block of a
// CompiledGrammar, written without additional memory and used in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/grammar/compiler/compiled_grammar.h"

namespace sotto {

// Increase the version with every change to CompiledGrammar or to the meaning of its fields, including the character
// classes.
inline constexpr uint32_t kGrammarVersion = 4;

size_t grammar_image_size(const CompiledGrammar& grammar);
// Writes an image. `image` must have grammar_image_size() bytes.
void write_grammar_image(const CompiledGrammar& grammar, uint8_t* image);

// Verifies an image that may come from an untrusted source. `image` must be aligned to kMemoryAlignment. `*grammar`
// points into the image; this must outlive it. Fails with kMemoryMisaligned or kGrammarCorrupt, or with
// kGrammarTooLarge if the verification would take more than about a second.
Status open_grammar_image(std::span<const uint8_t> image, const CompiledGrammar** grammar, Error* error);

}  // namespace sotto
