#ifndef SOTTO_SESSION_H
#define SOTTO_SESSION_H
#include "sotto.h"
#ifdef __cplusplus
extern "C" {
#endif
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
enum { SOTTO_POOL_LAST = 0, SOTTO_POOL_MEAN = 1 };
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
