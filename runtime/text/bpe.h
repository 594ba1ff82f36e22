// Byte pair encoding (Sennrich et al. 2016) of one word. A word starts as units: bytes or characters. The adjacent pair
// with the lowest rank, the leftmost one among equals, is merged until no pair can be merged. Example: with the merges
// "l o", "lo w" and "e r", in this order, "lower" becomes lo w e r, then low e r, then low er.
//
// There are two implementations with the same result. merge_tokens() follows the definition, in quadratic time, and is
// faster for short words. search_word() takes linear time (as in van Antwerpen and Neubeck's bpe, 2023). It relies on a
// theorem: call two tokens compatible if encoding their joined bytes gives these two tokens again; then a sequence of
// tokens is the encoding of its bytes if and only if every two neighbours are compatible. The function therefore
// searches for a sequence of compatible tokens that spells the word, and tries the longest token first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/model/tokenizer_view.h"
#include "runtime/text/word.h"

namespace sotto {

// Words of up to this number of units are merged as the definition says, in arrays on the stack.
inline constexpr size_t kShortWordUnits = 256;

// Returns the size of the unit at `at`, a byte or a character. The first or last unit includes the space of
// the word (WordSpace).
size_t unit_size(TokenizerModel model, WordSpace word_space, const Word& word, size_t at);

// Stores the tokens of the units of a word and returns their number. Every unit must have a token.
size_t unit_tokens(const TokenizerView& tokenizer, const Word& word, uint32_t* tokens);

// Merges the tokens of 1 to kShortWordUnits units in place. Returns how many tokens are left.
size_t merge_tokens(const TokenizerView& tokenizer, uint32_t* tokens, size_t count);

enum class SearchResult { kFound, kNoSpace, kInconsistent };

// Encodes a word of any size. Returns kNoSpace if `tokens` might be too small (word.size() elements always suffice),
// and kInconsistent if sorted_tokens contradicts the merges.
SearchResult search_word(const TokenizerView& tokenizer, const Word& word, std::span<int32_t> tokens, size_t* count);

// Returns the longest of the sorted tokens that is a prefix of the word and has at most `limit` bytes, or kNoToken.
uint32_t longest_token(const TokenizerView& tokenizer, std::span<const uint32_t> sorted, const Word& word,
                       size_t limit);

// Returns the sorted token that spells the word, or kNoToken.
uint32_t find_token(const TokenizerView& tokenizer, const Word& word);

}  // namespace sotto
