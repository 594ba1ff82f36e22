// Minimum Bayes risk (Kumar and Byrne 2004): a continuation's score is its mean similarity to
// all that were drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/search/search_params.h"

namespace sotto {

inline constexpr size_t kMaxNgram = 4;

// The mean over n = 1 ... 4 of the F1 of the n-grams that two sequences share, each counted as
// often as both have it; lengths of which neither has any are left out. 1 for two empty ones.
// `a_order`, `b_order`: from sort_ngrams().
double ngram_similarity(std::span<const int32_t> a, std::span<const uint32_t> a_order, std::span<const int32_t> b,
                        std::span<const uint32_t> b_order);

// The places of a sequence, sorted by the up to four tokens that begin there.
void sort_ngrams(std::span<const int32_t> tokens, std::span<uint32_t> order);

// Scores all sequences by the similarity that params.rerank names. `order` (sequence,
// sequence_tokens) is scratch. kInvalidArgument: the caller's similarity is not finite.
Status vote(const SearchParams& params, size_t sequence_tokens, uint32_t* order, std::span<SearchSequence> sequences);

}  // namespace sotto
