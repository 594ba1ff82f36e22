// Normalization: the steps that prepare the user's text before it is split.
//
// 1. Characters are removed or replaced with strings, by a table (CharacterMap). SentencePiece's rules, which replace
//    strings, take the place of the table: the longest rule at each position applies. With a split step for graphemes,
//    the rules apply as in the package `tokenizers`: the shortest rule at the beginning of a grapheme cluster of less
//    than 6 bytes replaces the whole cluster.
// 2. Marks are sorted by their canonical combining classes, and characters are composed (Unicode 3.11). Together with
//    a table of decompositions in step 1 this makes the forms NFC, NFD, NFKC and NFKD.
// 3. Spaces are merged, and removed at the beginning and the end (SpaceRule).
// 4. Characters are removed or replaced again.
//
// The converter computes the tables, so the runtime needs no Unicode data. The steps form a stream, in which a step
// that looks ahead reads the characters again, so that no memory grows with the text. Marks between two starters are
// read once per combining class among them; Unicode has 55.
//
// Example: the form NFC composes e and U+0301 (a combining acute accent) to U+00E9.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/model/tokenizer_view.h"

namespace sotto {

struct NormalizedSize {
  uint64_t size;        // in bytes
  bool is_changed;      // true if the normalized text differs
  uint64_t characters;  // number of characters that enter step 3, up to the last one that it keeps
};
NormalizedSize measure_normalized(const NormalizerView& normalizer, std::span<const char> text);

// Writes the normalized text, which has the measured size.
void normalize(const NormalizerView& normalizer, std::span<const char> text, const NormalizedSize& size, char* output);

}  // namespace sotto
