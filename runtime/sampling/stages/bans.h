// Stages that ban tokens, force a token, or add to the logits of given tokens.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/generated/params.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/past_tokens.h"
#include "runtime/sampling/sample_input.h"

namespace sotto {

// Keeps only `tokens` (ascending, distinct). If none of them is a candidate, does nothing.
void allow_only(Candidates& candidates, std::span<const int32_t> tokens);

// Sets l = -infinity.
void ban(Candidates& candidates, int32_t token);
void ban(Candidates& candidates, std::span<const int32_t> tokens);

// Bans the last token of each list if the text ends with the other tokens of the list. A list of one token is always
// banned, unless that is an end-of-text token (as in NoBadWordsLogitsProcessor of transformers).
void ban_bad_words(Candidates& candidates, std::span<const TokenList> words, const TokenHistory& history,
                   std::span<const int32_t> end_tokens);

// Bans each token that would complete an n-gram of the history (Paulus et al. 2018). With n = 1 this is each token of
// the history.
void ban_repeated_ngrams(Candidates& candidates, PastTokens& past, uint32_t n);

// Forces a token if this position of the answer has one, the next token of `prefix`, or `last_token` at the token
// limit: keeps only this token, with l = 0. Does nothing if the token is not a candidate.
void force(Candidates& candidates, const SampleInput& input, std::span<const int32_t> prefix, int32_t last_token);

// Returns whether the text ends with `tokens` without their last one.
bool completes(const TokenHistory& history, std::span<const int32_t> tokens);

// The stages below add to logits. The sum of infinities of opposite signs is NaN, which counts as -infinity.
//
// Adds the bias of each entry to its token.
void add_bias(Candidates& candidates, std::span<const TokenBias> biases);

// Adds the bias of each sequence to its last token if the text ends with the other tokens of the sequence.
void add_sequence_bias(Candidates& candidates, std::span<const SequenceBias> biases, const TokenHistory& history);

// Adds |l_end| (factor^tokens - 1), limited to finite values, to the logit of each end-of-text token. The end becomes
// more likely, exponentially in the number of tokens since the start of the decay (ExponentialDecayLengthPenalty of
// transformers).
void raise_end(Candidates& candidates, std::span<const int32_t> end_tokens, float factor, uint64_t tokens);

// Returns base^exponent, computed by squaring and limited to the largest float.
double bounded_power(double base, uint64_t exponent);

}  // namespace sotto
