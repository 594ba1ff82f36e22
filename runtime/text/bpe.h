// Byte pair encoding (Sennrich et al. 2016) of one word: merge the adjacent pair of lowest rank, the leftmost among
// equals, until no pair merges.
//
// There are two implementations with the same result. merge_word() follows the definition and is quadratic in the word,
// which is fastest for short words. search_word() is linear. It uses the fact that a token sequence is the encoding of
// its bytes exactly if every two neighbours are compatible: encoded together they stay these two tokens. So it searches
// for the sequence of compatible neighbours that spells the word, longest token first (as in van Antwerpen and
// Neubeck's bpe, 2023).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/model/tokenizer_view.h"

namespace sotto {

inline constexpr size_t kShortWordBytes = 256;

// A word of text; every byte of it has a token.
struct Word {
  std::span<const char> bytes;
  bool space_before = false;  // the word begins with a space that is not in `bytes`

  size_t size() const { return bytes.size() + (space_before ? 1 : 0); }
};

// Encodes a word of 1 to kShortWordBytes bytes. `tokens` has space for one token per byte. Returns their number.
size_t merge_word(const TokenizerView& tokenizer, Word word, uint32_t* tokens);

enum class SearchResult { kFound, kNoSpace, kInconsistent };

// Encodes a word of any size. Returns kNoSpace if there may be more tokens than `tokens` can hold; word.size()
// suffices. Returns kInconsistent if sorted_tokens is not what the merges produce.
SearchResult search_word(const TokenizerView& tokenizer, Word word, std::span<int32_t> tokens, size_t* count);

// Returns the longest of the sorted tokens that the word begins with and that have at most `limit` bytes, or kNoToken.
uint32_t longest_token(const TokenizerView& tokenizer, std::span<const uint32_t> sorted, Word word, size_t limit);

}  // namespace sotto
