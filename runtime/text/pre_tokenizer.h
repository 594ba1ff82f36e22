// Splits text into the words that BPE never crosses, as GPT-2 does (Radford et al. 2019):
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// Example: "I've 2 cats" becomes "I", "'ve", " 2" and " cats".
#pragma once

#include <cstddef>
#include <span>

namespace sotto {

// Returns the end of the word that starts at `start` < text.size().
size_t word_end(std::span<const char> text, size_t start);

// Returns the end in `text` of the first word of " " + text, which may be 0. The text must not be empty.
size_t word_end_after_space(std::span<const char> text);

}  // namespace sotto
