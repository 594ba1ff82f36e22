// The parameters of a session, its speculation, and the structs that it returns.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/thread_pool.h"
#include "runtime/session/log_probabilities.h"
#include "runtime/transformer/kv_sequence.h"

namespace sotto {

// Features that a build may leave out (platforms/cmake/SottoFeatures.cmake).
inline constexpr bool kHasSearch = SOTTO_HAS_SEARCH != 0;
inline constexpr bool kHasSpeculation = SOTTO_HAS_SPECULATION != 0;

// Bits of SessionParams::features: SOTTO_FEATURE_.
inline constexpr uint32_t kFeatureDola = kFeatureLayerStates;
inline constexpr uint32_t kFeatureGuide = 4;
inline constexpr uint32_t kAllFeatures = kFeatureHiddenHistory | kFeatureDola | kFeatureGuide;

// As sotto_session_params. context_tokens 0, kDefaultSinks and sequence_tokens 0 select the defaults.
struct SessionParams {
  static constexpr uint32_t kDefaultSinks = UINT32_MAX;

  uint32_t context_tokens = 0;
  uint32_t batch_tokens = 128;
  uint32_t thread_count = 1;
  Overflow overflow = Overflow::kStop;
  uint32_t sink_tokens = kDefaultSinks;
  bool has_executor = false;
  HostExecutor executor;
  uint32_t sequence_count = 0;
  uint32_t sequence_tokens = 0;
  uint32_t features = 0;
  uint32_t list_bytes = 16384;
  uint32_t draft_tokens = 0;
};

class Session;

// Numbered as SOTTO_DRAFT_: bits of SpeculationParams::sources.
inline constexpr uint32_t kDraftLookup = 1;
inline constexpr uint32_t kDraftSession = 2;
inline constexpr uint32_t kDraftEarlyExit = 4;
inline constexpr uint32_t kDraftLookahead = 8;
inline constexpr uint32_t kDraftCallback = 16;
inline constexpr uint32_t kAllDrafts = 31;

// As sotto_draft_fn.
using DraftFunction = size_t (*)(void* user_data, const int32_t* tokens, size_t token_count, const float* hidden,
                                 size_t hidden_count, int32_t* drafts, size_t capacity);

// As sotto_speculation_params.
struct SpeculationParams {
  uint32_t sources = kDraftLookup;
  uint32_t draft_tokens = 0;
  uint32_t min_match = 2;
  uint32_t max_match = 8;
  uint32_t exit_layer = 0;
  float draft_threshold = 0;
  Session* draft_session = nullptr;
  DraftFunction draft = nullptr;
  void* user_data = nullptr;
};

// As sotto_speculation_info.
struct SpeculationInfo {
  uint64_t batch_count = 0;
  uint64_t proposed_count = 0;
  uint64_t accepted_count = 0;
  uint64_t forced_proposed_count = 0;
  uint64_t forced_accepted_count = 0;
  uint64_t draft_ns = 0;
};

// Laid out as sotto_piece.
struct Piece {
  const char* text;
  size_t text_size;
  int32_t token;
  float log_probability;
  float sampled_log_probability;
  uint32_t alternative_count;
  const Alternative* alternatives;
  const char* bytes;
  size_t byte_count;
  uint64_t elapsed_ns;
};

// Returns non-zero to stop.
using PieceFunction = int32_t (*)(void* user_data, const Piece& piece);

// As sotto_session_timings.
struct SessionTimings {
  uint64_t prefill_tokens = 0;
  uint64_t prefill_ns = 0;
  uint64_t decode_tokens = 0;
  uint64_t decode_ns = 0;
  uint64_t sample_count = 0;
  uint64_t sample_ns = 0;
  ReanchorTimings reanchor;
};

// As sotto_score.
struct ScoreResult {
  uint64_t token_count = 0;
  double log_probability = 0;
  double perplexity = 0;
};

// Numbered as sotto_pooling.
enum class Pooling : int32_t { kLast = 0, kMean = 1 };

}  // namespace sotto
