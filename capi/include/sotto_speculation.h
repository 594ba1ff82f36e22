/* sotto_speculation.h - speculative decoding: several tokens per evaluation with unchanged output.
 *
 * A session made with draft_tokens drafts what may follow, evaluates the drafts in one batch with
 * the token before them, and draws each token from its own row of logits, as it would without
 * drafts. A draft that equals the token drawn has saved an evaluation; the rest is discarded.
 * Tokens, text, probabilities and saved states are bit-identical in every mode of sampling, with
 * grammars, guides, stops and banned strings. Only time and sotto_speculation_info differ.
 *
 * A draft d is accepted with the probability p(d) that the sampler gives it, which is the
 * min(1, p/q) of speculative sampling (Leviathan et al. 2023) for a draft that is always d.
 */
#ifndef SOTTO_SPECULATION_H
#define SOTTO_SPECULATION_H

#include "sotto_session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sources of drafts, as bits. Text that a matcher forces is evaluated ahead whenever the session
 * has memory for it, for any source. After it, the first of the chosen sources that proposes
 * anything is used, in the order CALLBACK, LOOKUP, SESSION, EARLY_EXIT, LOOKAHEAD. */
enum {
  /* Prompt lookup: the tokens that followed an earlier occurrence of the last tokens. */
  SOTTO_DRAFT_LOOKUP = 1,
  /* A session with a smaller model of the same vocabulary. It draws with this session's sampler and
   * random numbers. */
  SOTTO_DRAFT_SESSION = 2,
  /* The first layers of the model itself. */
  SOTTO_DRAFT_EARLY_EXIT = 4,
  /* N-grams that the model predicted after drafts that were wrong. */
  SOTTO_DRAFT_LOOKAHEAD = 8,
  /* A function of the caller, such as heads trained for the model (Medusa, EAGLE). */
  SOTTO_DRAFT_CALLBACK = 16
};

/* Writes at most `capacity` tokens that may follow to `drafts` and returns their number. `tokens`
 * are the newest of the stream, at most context_tokens. `hidden` is the state from which the last
 * of them was drawn, after the final LayerNorm: embedding_size floats, or NULL if it is not
 * available. The first invalid token and those after it are ignored, and all of them if the
 * returned number exceeds `capacity`. It must not call the session. */
typedef size_t (*sotto_draft_fn)(void* user_data, const sotto_token* tokens, size_t token_count, const float* hidden,
                                 size_t hidden_count, sotto_token* drafts, size_t capacity);

/* Parameters of speculative decoding. */
typedef struct sotto_speculation_params {
  uint32_t struct_size;
  /* Sources of drafts. Default LOOKUP. */
  uint32_t sources;
  /* Maximal number of draft tokens per evaluation. After rejected drafts there are fewer, or none
   * for a while. Default 0: the session's; from 0 to the session's draft_tokens. */
  uint32_t draft_tokens;
  /* Minimal number of last tokens that LOOKUP must have found before. Default 2; from 1 to
   * max_match. */
  uint32_t min_match;
  /* Maximal number of tokens that LOOKUP compares. Default 8; from 1 to 64. */
  uint32_t max_match;
  /* Number of layers that EARLY_EXIT evaluates. Default 0: a third of the layers; from 1 to
   * layer_count - 1. */
  uint32_t exit_layer;
  /* A draft of SESSION or EARLY_EXIT ends before a token whose probability is below this. Default 0
   * (off); from 0 to 1. */
  float draft_threshold;
  uint32_t reserved;
  /* Session of SESSION. It is reset now and at the end, must outlive its use, belongs to the same
   * thread, and must not be used for anything else in the meantime. */
  sotto_session* draft_session;
  /* Function of CALLBACK. */
  sotto_draft_fn draft;
  void* user_data;
} sotto_speculation_params;

/* Counts of speculative decoding. */
typedef struct sotto_speculation_info {
  uint32_t struct_size;
  uint32_t reserved;
  /* Number of evaluations with drafts. */
  uint64_t batch_count;
  /* Number of draft tokens evaluated. */
  uint64_t proposed_count;
  /* Number of draft tokens accepted. */
  uint64_t accepted_count;
  /* Part of proposed_count that a matcher forced. */
  uint64_t forced_proposed_count;
  /* Part of accepted_count that a matcher forced. */
  uint64_t forced_accepted_count;
  /* Time spent on making drafts. */
  uint64_t draft_ns;
} sotto_speculation_info;

SOTTO_API void sotto_speculation_params_init(sotto_speculation_params* params, size_t params_size);

/* Sets how the session drafts from now on. With NULL it drafts only text that a matcher forces, as
 * before the first call. Errors: INVALID_STATE (the session was created with draft_tokens 0),
 * INVALID_ARGUMENT naming the parameter. On failure the old parameters stay. */
SOTTO_API sotto_status sotto_session_set_speculation(sotto_session* session, const sotto_speculation_params* params,
                                                     sotto_error* error);

/* Writes the counts since init or sotto_session_reset_timings to *info. */
SOTTO_API sotto_status sotto_session_get_speculation_info(const sotto_session* session, sotto_speculation_info* info);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_SPECULATION_H */
