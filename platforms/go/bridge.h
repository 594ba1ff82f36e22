/* C code between Go and sotto.h: memory, and callbacks that receive a handle of a Go object. */
#ifndef SOTTO_GO_BRIDGE_H
#define SOTTO_GO_BRIDGE_H

#include <sotto.h>

/* Returns aligned, zeroed memory for an object, or NULL. */
void* sotto_go_allocate(size_t size);
void sotto_go_free(void* memory);

/* Returns the number of allocated blocks, for leak tests. */
int64_t sotto_go_blocks(void);

/* The next functions set callbacks with a handle as user_data, which Go itself could not convert to a pointer. */
void sotto_go_set_log(sotto_model_params* params, uintptr_t handle);
void sotto_go_set_release(sotto_model_params* params);
void sotto_go_set_grammar_log(sotto_grammar_params* params, uintptr_t handle);
void sotto_go_set_logits(sotto_sampler_params* params, uintptr_t handle);
void sotto_go_set_processor(sotto_sampler_params* params, uintptr_t handle);
void sotto_go_set_similarity(sotto_search_params* params, uintptr_t handle);
void sotto_go_set_step(sotto_search_params* params, uintptr_t handle);
void sotto_go_set_draft(sotto_speculation_params* params, uintptr_t handle);

/* The next functions pass a callback for pieces with a handle as user_data, or no callback if it is 0. */

// Methods of sotto_session, written by capi/generate from capi/params.

sotto_status sotto_go_session_generate(sotto_session* session, const sotto_token* prompt, size_t prompt_count,
                                       size_t max_tokens, uintptr_t handle);

// End of the generated methods.

// Methods of sotto_chat, written by capi/generate from capi/params.

sotto_status sotto_go_chat_reply(sotto_chat* chat, size_t max_tokens, uintptr_t handle, sotto_error* error);

// End of the generated methods.

#endif /* SOTTO_GO_BRIDGE_H */
