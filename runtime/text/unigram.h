// Unigram language model tokenization (Kudo 2018): the tokens that spell a word with the largest sum of scores, found
// by Viterbi's algorithm (1967).
//
// Example: the tokens ab (-1), c (-2), a (-1) and bc (-3) spell "abc" as ab c, with the sum -3, or as a bc, with the
// sum -4. The result is ab c.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/model/tokenizer_view.h"
#include "runtime/text/word.h"

namespace sotto {

// Stores each token of the best path at the position of its first byte; kNoToken stands for a character that no token
// spells. `tokens` must have word.size() elements. Those at other positions are undefined.
void find_best_tokens(const TokenizerView& tokenizer, const Word& word, std::span<uint32_t> tokens);

}  // namespace sotto
