// What a session is made with, and what it hands out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/thread_pool.h"
#include "runtime/session/log_probabilities.h"
#include "runtime/transformer/kv_sequence.h"

namespace sotto {

// Bits of SessionParams::features: SOTTO_FEATURE_.
inline constexpr uint32_t kFeatureDola = kFeatureLayerStates;
inline constexpr uint32_t kFeatureGuide = 4;
inline constexpr uint32_t kAllFeatures = kFeatureHiddenHistory | kFeatureDola | kFeatureGuide;

// As sotto_session_params; context_tokens 0, kDefaultSinks and sequence_tokens 0 stand for the
// defaults.
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

// Non-zero: stop.
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
