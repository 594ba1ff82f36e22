#ifndef SOTTO_SESSION_H
#define SOTTO_SESSION_H
#include "sotto_model.h"
#ifdef __cplusplus
extern "C" {
#endif
typedef struct sotto_session sotto_session;
typedef int32_t sotto_overflow;
enum {
  SOTTO_OVERFLOW_STOP = 0,
  SOTTO_OVERFLOW_RING = 1,
  SOTTO_OVERFLOW_SHIFT = 2
};
typedef struct sotto_executor {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t (*num_threads)(void* executor_context);
  void (*schedule)(void* executor_context, void* context, void (*task)(void* context));
  void* executor_context;
} sotto_executor;
enum {
  SOTTO_FEATURE_HIDDEN_HISTORY = 1,
  SOTTO_FEATURE_DOLA = 2,
  SOTTO_FEATURE_GUIDE = 4
};
typedef struct sotto_session_params {
  uint32_t struct_size;
  uint32_t context_tokens;
  uint32_t batch_tokens;
  uint32_t thread_count;
  sotto_overflow overflow;
  uint32_t sink_tokens;
  const sotto_executor* executor;
  uint32_t sequence_count;
  uint32_t sequence_tokens;
  uint32_t features;
  uint32_t list_bytes;
  uint32_t draft_tokens;
  uint32_t reserved;
} sotto_session_params;
typedef struct sotto_session_info {
  uint32_t struct_size;
  uint32_t context_tokens;
  uint32_t batch_tokens;
  uint32_t thread_count;
  uint32_t sink_tokens;
  uint32_t cached_tokens;
  uint64_t token_count;
  uint64_t reanchor_count;
  uint64_t kv_bytes;
  uint64_t memory_bytes;
  uint32_t matcher_sequence_count;
  sotto_status stop;
} sotto_session_info;
typedef struct sotto_session_timings {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t prefill_tokens;
  uint64_t prefill_ns;
  uint64_t decode_tokens;
  uint64_t decode_ns;
  uint64_t sample_count;
  uint64_t sample_ns;
  uint64_t reanchor_tokens;
  uint64_t reanchor_ns;
} sotto_session_timings;
typedef struct sotto_alternative {
  sotto_token token;
  float log_probability;
} sotto_alternative;
typedef struct sotto_piece {
  const char* text;
  size_t text_size;
  sotto_token token;
  float log_probability;
  float sampled_log_probability;
  uint32_t alternative_count;
  const sotto_alternative* alternatives;
  const char* bytes;
  size_t byte_count;
  uint64_t elapsed_ns;
} sotto_piece;
typedef int32_t (*sotto_piece_fn)(void* user_data, const sotto_piece* piece);
SOTTO_API void sotto_session_params_init(sotto_session_params* params, size_t params_size);
SOTTO_API sotto_status sotto_session_memory_size(const sotto_model* model, const sotto_session_params* params,
                                                 size_t* memory_size, sotto_error* error);
SOTTO_API sotto_status sotto_session_init(const sotto_model* model, const sotto_session_params* params, void* memory,
                                          size_t memory_size, sotto_session** session, sotto_error* error);
SOTTO_API void sotto_session_deinit(sotto_session* session);
SOTTO_API void sotto_session_reset(sotto_session* session);
SOTTO_API sotto_status sotto_session_prefill(sotto_session* session, const sotto_token* tokens, size_t count);
SOTTO_API sotto_status sotto_session_prefill_embeddings(sotto_session* session, const float* embeddings, size_t count);
SOTTO_API sotto_status sotto_session_next(sotto_session* session, const sotto_piece** piece);
SOTTO_API sotto_status sotto_session_set_limit(sotto_session* session, size_t max_tokens);
SOTTO_API sotto_status sotto_session_generate(sotto_session* session, const sotto_token* prompt, size_t prompt_count,
                                              size_t max_tokens, sotto_piece_fn on_piece, void* user_data);
SOTTO_API sotto_status sotto_session_logits(sotto_session* session, const float** logits, size_t* count);
SOTTO_API sotto_status sotto_session_rewind(sotto_session* session, uint64_t token_count);
SOTTO_API sotto_status sotto_session_get_error(const sotto_session* session, sotto_error* error);
SOTTO_API void sotto_session_cancel(sotto_session* session);
SOTTO_API sotto_status sotto_session_get_info(const sotto_session* session, sotto_session_info* info);
SOTTO_API sotto_status sotto_session_get_timings(const sotto_session* session, sotto_session_timings* timings);
SOTTO_API void sotto_session_reset_timings(sotto_session* session);
typedef struct sotto_stop_params {
  uint32_t struct_size;
  uint32_t include_stop_text;
  uint64_t max_tokens;
  uint64_t max_time_ns;
  float repetition_limit;
  uint32_t repetition_window;
  const sotto_token* stop_tokens;
  size_t stop_token_count;
  const sotto_text* stop_strings;
  size_t stop_string_count;
  const sotto_text* banned_strings;
  size_t banned_string_count;
} sotto_stop_params;
SOTTO_API void sotto_stop_params_init(sotto_stop_params* params, size_t params_size);
SOTTO_API sotto_status sotto_session_set_stops(sotto_session* session, const sotto_stop_params* params,
                                               sotto_error* error);
SOTTO_API sotto_status sotto_session_heal(sotto_session* session);
typedef struct sotto_score {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t token_count;
  double log_probability;
  double perplexity;
} sotto_score;
SOTTO_API sotto_status sotto_session_score(sotto_session* session, const sotto_token* tokens, size_t count,
                                           float* log_probabilities, sotto_score* score);
SOTTO_API sotto_status sotto_session_hidden(sotto_session* session, const float** hidden, size_t* count);
typedef int32_t sotto_pooling;
enum {
  SOTTO_POOL_LAST = 0,
  SOTTO_POOL_MEAN = 1
};
SOTTO_API sotto_status sotto_session_embed(sotto_session* session, const sotto_token* tokens, size_t count,
                                           sotto_pooling pooling, float* embedding);
typedef int32_t sotto_guide_mode;
enum {
  SOTTO_GUIDE_OFF = 0,
  SOTTO_GUIDE_CFG = 1,
  SOTTO_GUIDE_CONTRAST = 2
};
typedef struct sotto_guide_params {
  uint32_t struct_size;
  sotto_guide_mode mode;
  float scale;
  float alpha;
  float beta;
  uint32_t reserved;
} sotto_guide_params;
SOTTO_API void sotto_guide_params_init(sotto_guide_params* params, size_t params_size);
SOTTO_API sotto_status sotto_session_set_guide(sotto_session* session, sotto_session* guide,
                                               const sotto_guide_params* params, sotto_error* error);
SOTTO_API sotto_status sotto_session_saved_size(const sotto_session* session, size_t* size);
SOTTO_API sotto_status sotto_session_save(const sotto_session* session, void* bytes, size_t capacity, size_t* size);
SOTTO_API sotto_status sotto_session_restore(sotto_session* session, const void* bytes, size_t size,
                                             sotto_error* error);
SOTTO_API sotto_status sotto_session_fork(const sotto_session* from, sotto_session* to, sotto_error* error);
#ifdef __cplusplus
}
#endif
#endif
