// Independent samples: several continuations of one text, drawn with separate random numbers and evaluated in one batch
// per step. The results are in the order of drawing, sorted by score (best of n), or ranked by minimum Bayes risk
// (Kumar and Byrne 2004, "Minimum Bayes-Risk Decoding for Statistical Machine Translation"). The score is then the mean
// similarity to all samples.
//
// Example: the samples 4, 5 and 4 have the mean similarities 2/3, 1/3 and 2/3 if only equal samples are similar, so the
// majority wins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/search/search_run.h"

namespace sotto {

// Stores the results in the memory, best first, and their number in `*count`.
// Describes in `*error` only the failures of vote().
Status search_samples(const SearchInput& input, const SearchParams& params, SearchMemory* memory, uint32_t* count,
                      Error* error);

inline constexpr size_t kMaxNgram = 4;

// Returns the similarity of two sequences: the mean, over n from 1 to 4, of the F1 score of their common n-grams. An
// n-gram counts as often as it occurs in both sequences. A value of n is left out if neither sequence has an n-gram of
// this length. The similarity of two empty sequences is 1. `a_order` and `b_order` come from sort_ngrams().
double ngram_similarity(std::span<const int32_t> a, std::span<const uint32_t> a_order, std::span<const int32_t> b,
                        std::span<const uint32_t> b_order);

// Sorts the positions of a sequence by the n-grams of up to four tokens that begin there.
void sort_ngrams(std::span<const int32_t> tokens, std::span<uint32_t> order);

// Sets the score of each sequence to its mean similarity, as params.rerank defines it. `order` (sequence,
// sequence_tokens) is scratch memory. Fails with kInvalidArgument if the caller's function returns a similarity that is
// not finite.
Status vote(const SearchParams& params, size_t sequence_tokens, uint32_t* order, std::span<SearchSequence> sequences,
            Error* error);

}  // namespace sotto
