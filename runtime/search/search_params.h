// The caller's settings of a search, as in sotto_search_params, where each is documented.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/generated/params.h"

namespace sotto {

// Numbered as sotto_search_mode.
enum class SearchMode : int32_t { kBeam = 0, kBeamSample = 1, kSample = 2, kContrastive = 3 };

// Numbered as sotto_early_stopping.
enum class EarlyStopping : int32_t { kHeuristic = 0, kAtOnce = 1, kNever = 2 };

// Numbered as sotto_length_norm.
enum class LengthNorm : int32_t { kPower = 0, kGnmt = 1 };

// Numbered as sotto_rerank.
enum class Rerank : int32_t { kOrder = 0, kBest = 1, kExact = 2, kNgram = 3, kCallback = 4 };

// Laid out as sotto_sequence.
struct SearchSequence {
  const int32_t* tokens;
  size_t token_count;
  double score;
  double log_probability;
  Status stop;
  uint32_t index;
};

// How alike two continuations are.
using SimilarityFunction = double (*)(void* user_data, const int32_t* a, size_t a_count, const int32_t* b,
                                      size_t b_count);

// Non-zero stops the search.
using StepFunction = int32_t (*)(void* user_data, uint32_t sequence, int32_t token);

struct SearchParams {
  SearchMode mode = SearchMode::kBeam;
  uint32_t sequence_count = 0;  // 0: the session's
  uint32_t return_count = 0;    // 0: all
  uint32_t max_tokens = 0;      // 0: the session's sequence_tokens
  float length_penalty = 1;
  LengthNorm length_norm = LengthNorm::kPower;
  EarlyStopping early_stopping = EarlyStopping::kHeuristic;
  uint32_t group_count = 1;
  float diversity_penalty = 0;
  Rerank rerank = Rerank::kOrder;
  uint32_t contrastive_k = 4;
  float contrastive_alpha = 0.6f;
  std::span<const TokenList> phrases;
  const uint32_t* phrase_groups = nullptr;  // (phrase); null: each stands for itself
  SimilarityFunction similarity = nullptr;
  void* similarity_user_data = nullptr;
  StepFunction on_step = nullptr;
  void* step_user_data = nullptr;
};

inline constexpr size_t kMaxPhrases = 32;
inline constexpr uint32_t kMaxContrastive = 64;

}  // namespace sotto
