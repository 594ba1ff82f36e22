// Byte pair encoding (Sennrich et al. 2016) of one word: merge the adjacent pair with the lowest rank, the leftmost one
// among equals, until no pair can be merged.
//
// There are two implementations with the same result. merge_word() follows the definition. It takes quadratic time, but
// is faster for short words. search_word() takes linear time. It relies on a property of the result: a sequence of
// tokens is the encoding of its bytes if and only if every two neighbours are compatible, which means that encoding
// their joined bytes gives these two tokens again. It searches for the sequence of compatible tokens that spells the
// word, trying the longest token first (as in van Antwerpen and Neubeck's bpe, 2023).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/model/tokenizer_view.h"

namespace sotto {

inline constexpr size_t kShortWordBytes = 256;

// A word of text. Each of its bytes has a token.
struct Word {
  std::span<const char> bytes;
  bool space_before = false;  // whether the word begins with a space that is not in `bytes`

  size_t size() const { return bytes.size() + (space_before ? 1 : 0); }
};

// Encodes a word of 1 to kShortWordBytes bytes and returns the number of tokens. `tokens` must have at least one
// element per byte.
size_t merge_word(const TokenizerView& tokenizer, Word word, uint32_t* tokens);

enum class SearchResult { kFound, kNoSpace, kInconsistent };

// Encodes a word of any size. Returns kNoSpace if `tokens` might be too small, which it never is with word.size()
// elements. Returns kInconsistent if sorted_tokens is not what the merges produce.
SearchResult search_word(const TokenizerView& tokenizer, Word word, std::span<int32_t> tokens, size_t* count);

// Returns the longest of the sorted tokens that is a prefix of the word and has at most `limit` bytes, or kNoToken.
uint32_t longest_token(const TokenizerView& tokenizer, std::span<const uint32_t> sorted, Word word, size_t limit);

}  // namespace sotto
