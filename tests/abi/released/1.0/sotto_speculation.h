#ifndef SOTTO_SPECULATION_H
#define SOTTO_SPECULATION_H
#include "sotto_session.h"
#ifdef __cplusplus
extern "C" {
#endif
enum {
  SOTTO_DRAFT_LOOKUP = 1,
  SOTTO_DRAFT_SESSION = 2,
  SOTTO_DRAFT_EARLY_EXIT = 4,
  SOTTO_DRAFT_LOOKAHEAD = 8,
  SOTTO_DRAFT_CALLBACK = 16
};
typedef size_t (*sotto_draft_fn)(void* user_data, const sotto_token* tokens, size_t token_count, const float* hidden,
                                 size_t hidden_count, sotto_token* drafts, size_t capacity);
typedef struct sotto_speculation_params {
  uint32_t struct_size;
  uint32_t sources;
  uint32_t draft_tokens;
  uint32_t min_match;
  uint32_t max_match;
  uint32_t exit_layer;
  float draft_threshold;
  uint32_t reserved;
  sotto_session* draft_session;
  sotto_draft_fn draft;
  void* user_data;
} sotto_speculation_params;
typedef struct sotto_speculation_info {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t batch_count;
  uint64_t proposed_count;
  uint64_t accepted_count;
  uint64_t forced_proposed_count;
  uint64_t forced_accepted_count;
  uint64_t draft_ns;
} sotto_speculation_info;
SOTTO_API void sotto_speculation_params_init(sotto_speculation_params* params, size_t params_size);
SOTTO_API sotto_status sotto_session_set_speculation(sotto_session* session, const sotto_speculation_params* params,
                                                     sotto_error* error);
SOTTO_API sotto_status sotto_session_get_speculation_info(const sotto_session* session, sotto_speculation_info* info);
#ifdef __cplusplus
}
#endif
#endif
