// Stages that rule tokens out, or all but one.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/generated/params.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/past_tokens.h"
#include "runtime/sampling/sample_input.h"

namespace sotto {

// Only `tokens` (ascending, none twice) stay; if none of them is left, the stage does nothing.
void allow_only(Candidates& candidates, std::span<const int32_t> tokens);

// l = -infinity.
void ban(Candidates& candidates, int32_t token);
void ban(Candidates& candidates, std::span<const int32_t> tokens);

// The last token of each list is banned where the ones before it have just come; a list of
// one token always. End of text alone is no word: that would ban the end (as in transformers'
// NoBadWordsLogitsProcessor).
void ban_bad_words(Candidates& candidates, std::span<const TokenList> words, const TokenHistory& history,
                   int32_t end_token);

// A token is banned where it would complete n tokens that have come before (Paulus et al.
// 2018): with n = 1, each token that has come.
void ban_repeated_ngrams(Candidates& candidates, PastTokens& past, uint32_t n);

// Only the token stays that is forced at this place of the answer, with l = 0, unless it is
// not among the candidates: the next of `prefix`, or at the token limit `last_token`.
void force(Candidates& candidates, const SampleInput& input, std::span<const int32_t> prefix, int32_t last_token);

// Whether the newest tokens are `tokens`, all but the last.
bool completes(const TokenHistory& history, std::span<const int32_t> tokens);

}  // namespace sotto
