#ifndef SOTTO_SAMPLER_H
#define SOTTO_SAMPLER_H
#include "sotto_session.h"
#ifdef __cplusplus
extern "C" {
#endif
typedef int32_t sotto_stage;
enum {
  SOTTO_STAGE_LOGITS_CALLBACK = 1,
  SOTTO_STAGE_BIAS = 2,
  SOTTO_STAGE_SEQUENCE_BIAS = 3,
  SOTTO_STAGE_ALLOWED = 4,
  SOTTO_STAGE_SUPPRESS = 5,
  SOTTO_STAGE_BAD_WORDS = 6,
  SOTTO_STAGE_MIN_TOKENS = 7,
  SOTTO_STAGE_FORCED = 8,
  SOTTO_STAGE_END_DECAY = 9,
  SOTTO_STAGE_REPETITION = 10,
  SOTTO_STAGE_FREQUENCY = 11,
  SOTTO_STAGE_PRESENCE = 12,
  SOTTO_STAGE_NO_REPEAT_NGRAM = 13,
  SOTTO_STAGE_DRY = 14,
  SOTTO_STAGE_TEMPERATURE = 15,
  SOTTO_STAGE_SMOOTHING = 16,
  SOTTO_STAGE_TOP_K = 17,
  SOTTO_STAGE_TOP_P = 18,
  SOTTO_STAGE_MIN_P = 19,
  SOTTO_STAGE_TOP_A = 20,
  SOTTO_STAGE_TAIL_FREE = 21,
  SOTTO_STAGE_TYPICAL = 22,
  SOTTO_STAGE_EPSILON = 23,
  SOTTO_STAGE_ETA = 24,
  SOTTO_STAGE_TOP_N_SIGMA = 25,
  SOTTO_STAGE_TOP_H = 26,
  SOTTO_STAGE_XTC = 27,
  SOTTO_STAGE_WATERMARK = 28
};
typedef int32_t sotto_order;
enum {
  SOTTO_ORDER_DEFAULT = 0,
  SOTTO_ORDER_TRANSFORMERS = 1,
  SOTTO_ORDER_VLLM = 2
};
typedef int32_t sotto_selection;
enum {
  SOTTO_SELECT_MULTINOMIAL = 0,
  SOTTO_SELECT_GREEDY = 1,
  SOTTO_SELECT_GUMBEL = 2,
  SOTTO_SELECT_MIROSTAT = 3,
  SOTTO_SELECT_MIROSTAT_V2 = 4,
  SOTTO_SELECT_ADAPTIVE_P = 5
};
typedef struct sotto_token_bias {
  sotto_token token;
  float bias;
} sotto_token_bias;
typedef struct sotto_sequence_bias {
  const sotto_token* tokens;
  size_t count;
  float bias;
  uint32_t reserved;
} sotto_sequence_bias;
typedef void (*sotto_logits_fn)(void* user_data, float* logits, size_t count);
typedef int32_t sotto_watermark_scheme;
enum {
  SOTTO_WATERMARK_NONE = 0,
  SOTTO_WATERMARK_LEFT_HASH = 1,
  SOTTO_WATERMARK_SELF_HASH = 2,
  SOTTO_WATERMARK_TOURNAMENT = 3,
  SOTTO_WATERMARK_GUMBEL = 4
};
typedef struct sotto_watermark_params {
  uint32_t struct_size;
  sotto_watermark_scheme scheme;
  uint32_t context_width;
  float gamma;
  float delta;
  uint32_t tournament_layers;
  uint64_t key;
} sotto_watermark_params;
typedef struct sotto_watermark_result {
  uint32_t struct_size;
  uint32_t is_marked;
  uint64_t token_count;
  double score;
  double z;
  double p_value;
} sotto_watermark_result;
SOTTO_API void sotto_watermark_params_init(sotto_watermark_params* params, size_t params_size);
SOTTO_API sotto_status sotto_watermark_detect(const sotto_watermark_params* params, size_t vocabulary_size,
                                              const sotto_token* tokens, size_t count, sotto_watermark_result* result,
                                              sotto_error* error);
typedef int32_t sotto_dola;
enum {
  SOTTO_DOLA_OFF = 0,
  SOTTO_DOLA_LOW = 1,
  SOTTO_DOLA_HIGH = 2
};
typedef struct sotto_sampler_params {
  uint32_t struct_size;
  float temperature;
  uint32_t top_k;
  float top_p;
  float min_p;
  float repetition_penalty;
  uint32_t repetition_window;
  uint32_t model_defaults;
  uint64_t seed;
  sotto_order order;
  uint32_t min_keep;
  const sotto_stage* stages;
  size_t stage_count;
  float frequency_penalty;
  float presence_penalty;
  uint32_t penalize_prompt;
  float penalty_slope;
  float dry_multiplier;
  float dry_base;
  uint32_t dry_allowed_length;
  uint32_t dry_window;
  const sotto_text* dry_breakers;
  size_t dry_breaker_count;
  const sotto_token* dry_breaker_tokens;
  size_t dry_breaker_token_count;
  uint32_t no_repeat_ngram;
  uint32_t guard_window;
  float guard_penalty;
  float temperature_range;
  float temperature_exponent;
  float smoothing_factor;
  float smoothing_curve;
  float top_p_decay;
  float top_p_min;
  sotto_token top_p_reset_token;
  float top_a;
  float tail_free;
  float typical_p;
  float epsilon;
  float eta;
  float top_n_sigma;
  float top_h;
  float xtc_probability;
  float xtc_threshold;
  sotto_selection selection;
  float mirostat_tau;
  float mirostat_eta;
  uint32_t mirostat_m;
  float adaptive_target;
  float adaptive_decay;
  uint32_t min_new_tokens;
  uint32_t ignore_end;
  uint32_t end_decay_start;
  float end_decay_factor;
  sotto_token forced_last_token;
  const sotto_token_bias* logit_bias;
  size_t logit_bias_count;
  const sotto_sequence_bias* sequence_bias;
  size_t sequence_bias_count;
  const sotto_token_list* bad_words;
  size_t bad_word_count;
  const sotto_token* allowed_tokens;
  size_t allowed_token_count;
  const sotto_token* suppressed_tokens;
  size_t suppressed_token_count;
  const sotto_token* begin_suppressed_tokens;
  size_t begin_suppressed_token_count;
  const sotto_token* forced_prefix;
  size_t forced_prefix_count;
  sotto_logits_fn logits_callback;
  void* logits_user_data;
  const sotto_watermark_params* watermark;
  sotto_dola dola;
  float dola_relative_top;
  uint32_t log_probabilities;
  uint32_t alternative_count;
} sotto_sampler_params;
SOTTO_API void sotto_sampler_params_init(sotto_sampler_params* params, size_t params_size);
SOTTO_API sotto_status sotto_session_set_sampler(sotto_session* session, const sotto_sampler_params* params,
                                                 sotto_error* error);
typedef struct sotto_sampler sotto_sampler;
typedef struct sotto_sampler_input {
  uint32_t struct_size;
  uint32_t sequence;
  const float* logits;
  const uint64_t* allowed;
  const sotto_token* history;
  size_t history_count;
  uint64_t generated_count;
  uint64_t token_limit;
} sotto_sampler_input;
SOTTO_API sotto_status sotto_sampler_memory_size(size_t vocabulary_size, uint32_t list_bytes, size_t* memory_size,
                                                 sotto_error* error);
SOTTO_API sotto_status sotto_sampler_init(const sotto_model* model, size_t vocabulary_size, uint32_t list_bytes,
                                          void* memory, size_t memory_size, sotto_sampler** sampler,
                                          sotto_error* error);
SOTTO_API sotto_status sotto_sampler_set(sotto_sampler* sampler, const sotto_sampler_params* params,
                                         sotto_error* error);
SOTTO_API sotto_status sotto_sampler_sample(sotto_sampler* sampler, const sotto_sampler_input* input,
                                            sotto_token* token, sotto_error* error);
SOTTO_API sotto_status sotto_sampler_apply(sotto_sampler* sampler, const sotto_sampler_input* input,
                                           sotto_token* tokens, float* probabilities, size_t capacity, size_t* count,
                                           sotto_error* error);
#ifdef __cplusplus
}
#endif
#endif
