// Independent continuations of one text, drawn by the sampler with separate random numbers and evaluated in one batch
// per step. They come in order, as best of n, or ranked by a minimum Bayes risk vote (Kumar and Byrne 2004, "Minimum
// Bayes-Risk Decoding for Statistical Machine Translation"): a continuation's score is its mean similarity to all that
// were drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/search/search_run.h"

namespace sotto {

// Leaves `*count` results in the memory, best first.
Status search_samples(const SearchInput& input, const SearchParams& params, SearchMemory* memory, uint32_t* count);

inline constexpr size_t kMaxNgram = 4;

// Returns the mean over n = 1 ... 4 of the F1 score of the n-grams that two sequences share, each counted as often as
// both have it. Lengths for which neither has an n-gram are left out. Two empty sequences have similarity 1. `a_order`
// and `b_order` come from sort_ngrams().
double ngram_similarity(std::span<const int32_t> a, std::span<const uint32_t> a_order, std::span<const int32_t> b,
                        std::span<const uint32_t> b_order);

// Sorts the places of a sequence by the up to four tokens that begin there.
void sort_ngrams(std::span<const int32_t> tokens, std::span<uint32_t> order);

// Sets the scores of all sequences by the similarity that params.rerank names. `order` (sequence, sequence_tokens) is
// scratch memory. Returns kInvalidArgument if the caller's similarity is not finite.
Status vote(const SearchParams& params, size_t sequence_tokens, uint32_t* order, std::span<SearchSequence> sequences);

}  // namespace sotto
