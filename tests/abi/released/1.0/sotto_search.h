#ifndef SOTTO_SEARCH_H
#define SOTTO_SEARCH_H
#include "sotto_session.h"
#ifdef __cplusplus
extern "C" {
#endif
typedef int32_t sotto_search_mode;
enum {
  SOTTO_SEARCH_BEAM = 0,
  SOTTO_SEARCH_BEAM_SAMPLE = 1,
  SOTTO_SEARCH_SAMPLE = 2,
  SOTTO_SEARCH_CONTRASTIVE = 3
};
typedef int32_t sotto_early_stopping;
enum {
  SOTTO_EARLY_STOPPING_HEURISTIC = 0,
  SOTTO_EARLY_STOPPING_AT_ONCE = 1,
  SOTTO_EARLY_STOPPING_NEVER = 2
};
typedef int32_t sotto_length_norm;
enum {
  SOTTO_LENGTH_POWER = 0,
  SOTTO_LENGTH_GNMT = 1
};
typedef int32_t sotto_rerank;
enum {
  SOTTO_RERANK_ORDER = 0,
  SOTTO_RERANK_BEST = 1,
  SOTTO_RERANK_EXACT = 2,
  SOTTO_RERANK_NGRAM = 3,
  SOTTO_RERANK_CALLBACK = 4
};
typedef struct sotto_sequence {
  const sotto_token* tokens;
  size_t token_count;
  double score;
  double log_probability;
  sotto_status stop;
  uint32_t index;
} sotto_sequence;
typedef double (*sotto_similarity_fn)(void* user_data, const sotto_token* a, size_t a_count, const sotto_token* b,
                                      size_t b_count);
typedef int32_t (*sotto_step_fn)(void* user_data, uint32_t sequence, sotto_token token);
typedef struct sotto_search_params {
  uint32_t struct_size;
  sotto_search_mode mode;
  uint32_t sequence_count;
  uint32_t return_count;
  uint32_t max_tokens;
  float length_penalty;
  sotto_length_norm length_norm;
  sotto_early_stopping early_stopping;
  uint32_t group_count;
  float diversity_penalty;
  sotto_rerank rerank;
  uint32_t contrastive_k;
  float contrastive_alpha;
  uint32_t reserved;
  const sotto_token_list* phrases;
  const uint32_t* phrase_groups;
  size_t phrase_count;
  sotto_similarity_fn similarity;
  void* similarity_user_data;
  sotto_step_fn on_step;
  void* step_user_data;
} sotto_search_params;
SOTTO_API void sotto_search_params_init(sotto_search_params* params, size_t params_size);
SOTTO_API sotto_status sotto_session_search(sotto_session* session, const sotto_search_params* params,
                                            const sotto_sequence** sequences, size_t* count, sotto_error* error);
#ifdef __cplusplus
}
#endif
#endif
