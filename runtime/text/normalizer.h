// Normalization: removes some characters of a text and replaces others with strings. The converter computes the
// normalized form of each character, so the runtime needs no Unicode tables for it.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/model/tokenizer_view.h"

namespace sotto {

struct NormalizedSize {
  uint64_t size;
  bool is_changed;  // true if the normalized text differs
};
NormalizedSize measure_normalized(const TokenizerView& tokenizer, std::span<const char> text);

// Writes the normalized text, which has the measured size.
void normalize(const TokenizerView& tokenizer, std::span<const char> text, char* output);

}  // namespace sotto
