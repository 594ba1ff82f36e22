// Byte pair encoding of one word: merge the adjacent pair of lowest rank, the leftmost of
// equals, until no pair merges. Two ways to the same tokens.
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
  bool space_before = false;  // a space that is not in `bytes` belongs to the word

  size_t size() const { return bytes.size() + (space_before ? 1 : 0); }
};

// Literally: quadratic in the word. word.size() is 1 ... kShortWordBytes; `tokens` has room
// for one token a byte. Returns how many there are.
size_t merge_word(const TokenizerView& tokenizer, Word word, uint32_t* tokens);

enum class SearchResult { kFound, kNoRoom, kInconsistent };

// In linear time, for words of any size. kNoRoom: there may be more tokens than room;
// word.size() suffices. kInconsistent: sorted_tokens is not what the merges produce.
SearchResult search_word(const TokenizerView& tokenizer, Word word, std::span<int32_t> tokens, size_t* count);

// The longest of `sorted` tokens that word.bytes begins with, of at most `limit` bytes;
// kNoToken: none.
uint32_t longest_token(const TokenizerView& tokenizer, std::span<const uint32_t> sorted, Word word, size_t limit);

}  // namespace sotto
