// Stages that ban tokens, force one, or add to the logits of tokens named by the caller.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/generated/params.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/past_tokens.h"
#include "runtime/sampling/sample_input.h"

namespace sotto {

// Keeps only `tokens` (ascending, distinct); does nothing if none of them is left.
void allow_only(Candidates& candidates, std::span<const int32_t> tokens);

// Sets l = -infinity.
void ban(Candidates& candidates, int32_t token);
void ban(Candidates& candidates, std::span<const int32_t> tokens);

// Bans the last token of each list if the newest tokens are the ones before it. A list of one token is always banned,
// unless it is the end-of-text token (as in transformers' NoBadWordsLogitsProcessor).
void ban_bad_words(Candidates& candidates, std::span<const TokenList> words, const TokenHistory& history,
                   int32_t end_token);

// Bans each token that would complete an n-gram of the history (Paulus et al. 2018); with n = 1, each token
// of the history.
void ban_repeated_ngrams(Candidates& candidates, PastTokens& past, uint32_t n);

// Keeps only the token that is forced at this position of the answer, with l = 0, if it is a candidate. That is the
// next token of `prefix`, or `last_token` at the token limit.
void force(Candidates& candidates, const SampleInput& input, std::span<const int32_t> prefix, int32_t last_token);

// Returns whether the newest tokens equal `tokens` without its last one.
bool completes(const TokenHistory& history, std::span<const int32_t> tokens);

// The stages below add to logits. A sum of infinities of both signs is NaN, which counts as -infinity. This one adds
// the bias of each entry.
void add_bias(Candidates& candidates, std::span<const TokenBias> biases);

// Adds the bias to the last token of each sequence if the newest tokens are the ones before it.
void add_sequence_bias(Candidates& candidates, std::span<const SequenceBias> biases, const TokenHistory& history);

// Adds |l_end| (factor^tokens - 1), limited to finite values, to the logit of the end-of-text token. This makes the end
// more likely, exponentially in the number of tokens since the start of the decay (transformers'
// ExponentialDecayLengthPenalty).
void raise_end(Candidates& candidates, int32_t end_token, float factor, uint64_t tokens);

// Returns base^exponent by squaring, limited to the largest float.
double bounded_power(double base, uint64_t exponent);

}  // namespace sotto
