/* What Go needs between itself and sotto.h: memory, and callbacks that carry a handle. */
#ifndef SOTTO_GO_BRIDGE_H
#define SOTTO_GO_BRIDGE_H

#include <sotto.h>

/* Memory for an object, aligned and zeroed; NULL if there is none. */
void* sotto_go_allocate(size_t size);
void sotto_go_free(void* memory);

/* How many blocks are allocated now, for the tests of leaks. */
int64_t sotto_go_blocks(void);

/* A handle as user_data, so that Go makes no pointer of it. */
void sotto_go_set_log(sotto_model_params* params, uintptr_t handle);
void sotto_go_set_release(sotto_model_params* params);
void sotto_go_set_grammar_log(sotto_grammar_params* params, uintptr_t handle);
void sotto_go_set_logits(sotto_sampler_params* params, uintptr_t handle);
void sotto_go_set_similarity(sotto_search_params* params, uintptr_t handle);
void sotto_go_set_step(sotto_search_params* params, uintptr_t handle);
void sotto_go_set_draft(sotto_speculation_params* params, uintptr_t handle);
sotto_status sotto_go_generate(sotto_session* session, const sotto_token* prompt, size_t prompt_count,
                               size_t max_tokens, uintptr_t handle);

#endif /* SOTTO_GO_BRIDGE_H */
