// The caller's settings of a sampler, as in sotto_sampler_params, where each is documented.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/base/text_view.h"

namespace sotto {

inline constexpr uint32_t kWholeWindow = UINT32_MAX;
inline constexpr int32_t kNoTokenId = -1;

// Numbered as sotto_order.
enum class ChainOrder : int32_t { kDefault = 0, kHuggingFace = 1, kOpenAi = 2 };

// Numbered as sotto_stage.
enum class StageKind : int32_t {
  kLogitsCallback = 1,
  kBias = 2,
  kSequenceBias = 3,
  kAllowed = 4,
  kSuppress = 5,
  kBadWords = 6,
  kMinTokens = 7,
  kForced = 8,
  kEndDecay = 9,
  kRepetition = 10,
  kFrequency = 11,
  kPresence = 12,
  kNoRepeatNgram = 13,
  kDry = 14,
  kTemperature = 15,
  kSmoothing = 16,
  kTopK = 17,
  kTopP = 18,
  kMinP = 19,
  kTopA = 20,
  kTailFree = 21,
  kTypical = 22,
  kEpsilon = 23,
  kEta = 24,
  kTopNSigma = 25,
  kTopH = 26,
  kXtc = 27,
  kWatermark = 28,
};
inline constexpr int32_t kStageKindCount = 28;

// Numbered as sotto_selection.
enum class Selection : int32_t {
  kMultinomial = 0,
  kGreedy = 1,
  kGumbel = 2,
  kMirostat = 3,
  kMirostatV2 = 4,
  kAdaptiveP = 5,
};

// Numbered as sotto_dola.
enum class DolaLayers : int32_t { kOff = 0, kLow = 1, kHigh = 2 };

// Laid out as sotto_token_bias, sotto_sequence_bias, sotto_token_list, sotto_text.
struct TokenBias {
  int32_t token;
  float bias;
};
struct SequenceBias {
  const int32_t* tokens;
  size_t count;
  float bias;
  uint32_t reserved;
};
struct TokenList {
  const int32_t* tokens;
  size_t count;
};

// Numbered as sotto_watermark_scheme.
enum class WatermarkScheme : int32_t {
  kOff = 0,
  kLeftHash = 1,
  kSelfHash = 2,
  kTournament = 3,
  kGumbel = 4,
};

struct WatermarkParams {
  WatermarkScheme scheme = WatermarkScheme::kOff;
  uint32_t context_width = 0;
  float gamma = 0.25f;
  float delta = 2.0f;
  uint64_t key = 15485863;
  uint32_t tournament_layers = 30;
};

// Changes the logits of a token that is about to be picked. Any value may be written.
using LogitsFunction = void (*)(void* user_data, float* logits, size_t count);

struct SamplerParams {
  float temperature = 0.8f;
  uint32_t top_k = 40;
  float top_p = 0.95f;
  float min_p = 0.05f;
  float repetition_penalty = 1.0f;
  uint32_t repetition_window = 64;
  bool log_probabilities = false;
  uint64_t seed = 0;

  // The chain.
  ChainOrder order = ChainOrder::kDefault;
  std::span<const StageKind> stages;  // not empty: instead of `order`
  uint32_t min_keep = 1;
  Selection selection = Selection::kMultinomial;

  // Repetition.
  float frequency_penalty = 0;
  float presence_penalty = 0;
  bool penalize_prompt = true;  // all that follows and the window above reach into it
  float penalty_slope = 0;
  uint32_t no_repeat_ngram = 0;
  float dry_multiplier = 0;
  float dry_base = 1.75f;
  uint32_t dry_allowed_length = 2;
  uint32_t dry_window = kWholeWindow;
  std::span<const TextView> dry_breakers;
  std::span<const int32_t> dry_breaker_tokens;
  uint32_t guard_window = 0;
  float guard_penalty = 1.5f;

  // Temperature.
  float temperature_range = 0;
  float temperature_exponent = 1;
  float smoothing_factor = 0;
  float smoothing_curve = 1;

  // Truncation.
  float top_p_decay = 1;
  float top_p_min = 0;
  int32_t top_p_reset_token = kNoTokenId;
  float top_a = 0;
  float tail_free = 1;
  float typical_p = 1;
  float epsilon = 0;
  float eta = 0;
  float top_n_sigma = 0;
  float top_h = 1;
  float xtc_probability = 0;
  float xtc_threshold = 0.1f;

  // Selection.
  float mirostat_tau = 5;
  float mirostat_eta = 0.1f;
  uint32_t mirostat_m = 100;
  float adaptive_target = -1;
  float adaptive_decay = 0.9f;

  // Bans, bias, forcing.
  std::span<const TokenBias> logit_bias;
  std::span<const SequenceBias> sequence_bias;
  std::span<const TokenList> bad_words;
  std::span<const int32_t> allowed_tokens;  // empty: all; the sampler's copy is sorted
  std::span<const int32_t> suppressed_tokens;
  std::span<const int32_t> begin_suppressed_tokens;
  std::span<const int32_t> forced_prefix;
  int32_t forced_last_token = kNoTokenId;
  uint32_t min_new_tokens = 0;
  bool ignore_end = false;
  uint32_t end_decay_start = 0;
  float end_decay_factor = 1;
  LogitsFunction logits_callback = nullptr;
  void* logits_user_data = nullptr;

  WatermarkParams watermark;

  // Layers against layers: done by the session before the chain.
  DolaLayers dola = DolaLayers::kOff;
  float dola_relative_top = 0.1f;

  uint32_t alternative_count = 0;  // most likely tokens reported beside each token
};

}  // namespace sotto
