/* sotto_speculation.h - speculative decoding: several tokens per evaluation with unchanged output.
 *
 * Reading the weights takes most of the time of an evaluation, so evaluating several tokens at once
 * costs little more than evaluating one. A session with draft_tokens guesses the next tokens (the
 * draft) and evaluates them in one batch with the newest token. It then draws tokens from the rows
 * of logits of this batch, exactly as it would without a draft. While they equal the draft, each
 * one has saved an evaluation. At the first difference, the rest of the draft is discarded.
 *
 * Tokens, text, probabilities and saved states are therefore bit-identical to those without
 * speculation, in every mode of sampling and with grammars, guides, stops and banned strings. Only
 * the time and sotto_speculation_info differ.
 *
 * A drafted token d is accepted with its probability p(d) under the sampler, which equals the
 * min(1, p/q) of speculative sampling (Leviathan et al. 2023) for a proposal with q(d) = 1.
 */
/* The enums and structs below are generated from capi/params/speculation.toml: edit that file. */
#ifndef SOTTO_SPECULATION_H
#define SOTTO_SPECULATION_H

#include "sotto_session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sources of drafts, as bits. Text that a matcher forces is always drafted first. It is followed by
 * a draft of the first chosen source that has one, in the order CALLBACK, LOOKUP, SESSION,
 * EARLY_EXIT, LOOKAHEAD. */
enum {
  /* Prompt lookup: the tokens that followed an earlier occurrence of the newest tokens. */
  SOTTO_DRAFT_LOOKUP = 1,
  /* A session with a smaller model that has the same vocabulary. The draft session draws with the
   * sampler and the random numbers of this session. */
  SOTTO_DRAFT_SESSION = 2,
  /* The first layers of the model itself. */
  SOTTO_DRAFT_EARLY_EXIT = 4,
  /* Lookahead decoding: n-grams that the model predicted after rejected draft tokens. */
  SOTTO_DRAFT_LOOKAHEAD = 8,
  /* A function of the caller, for example one that evaluates heads trained for the model (Medusa,
   * EAGLE). */
  SOTTO_DRAFT_CALLBACK = 16
};

/* Proposes a draft: writes at most `capacity` tokens that may come next to `drafts` and returns
 * their number. `tokens` are the newest tokens of the stream, at most context_tokens. `hidden` is
 * the hidden state after the final LayerNorm that predicted the last of them (embedding_size
 * floats), or NULL if it is not available. An invalid token and the tokens after it are ignored,
 * and if the returned number exceeds `capacity`, so is the whole draft. The function must not call
 * the session. */
typedef size_t (*sotto_draft_fn)(void* user_data, const sotto_token* tokens, size_t token_count, const float* hidden,
                                 size_t hidden_count, sotto_token* drafts, size_t capacity);

/* Parameters of speculative decoding. */
typedef struct sotto_speculation_params {
  uint32_t struct_size;
  /* Sources of drafts. Default: LOOKUP. */
  uint32_t sources;
  /* Maximum number of draft tokens per evaluation. After rejected drafts, fewer tokens or none are
   * drafted for a while. Default: 0 (the session's). Range: 0 to the session's draft_tokens. */
  uint32_t draft_tokens;
  /* Minimum number of tokens that must match for LOOKUP to propose a draft. Default: 2. Range: 1
   * to max_match. */
  uint32_t min_match;
  /* Maximum number of tokens that LOOKUP compares. Default: 8. Range: 1 to 64. */
  uint32_t max_match;
  /* Number of layers that EARLY_EXIT evaluates. Default: 0 (a third of the layers). Range: 1 to
   * layer_count - 1. */
  uint32_t exit_layer;
  /* SESSION and EARLY_EXIT end a draft before a token that is less likely than this. Default:
   * 0 (off). Range: 0 to 1. */
  float draft_threshold;
  uint32_t reserved;
  /* The session that SESSION uses. Until it is replaced, the draft session must exist, run on the
   * same thread, and have no other use. The library resets the draft session when it is set and
   * when it is replaced. */
  sotto_session* draft_session;
  /* The function that CALLBACK uses. */
  sotto_draft_fn draft;
  void* user_data;
} sotto_speculation_params;

/* Statistics of speculative decoding. */
typedef struct sotto_speculation_info {
  uint32_t struct_size;
  uint32_t reserved;
  /* Number of evaluations that included drafts. */
  uint64_t batch_count;
  /* Number of draft tokens that were evaluated. */
  uint64_t proposed_count;
  /* Number of draft tokens that were accepted. */
  uint64_t accepted_count;
  /* Number of proposed tokens that a matcher forced. */
  uint64_t forced_proposed_count;
  /* Number of accepted tokens that a matcher forced. */
  uint64_t forced_accepted_count;
  /* Time in nanoseconds spent making drafts. */
  uint64_t draft_ns;
} sotto_speculation_info;

SOTTO_API void sotto_speculation_params_init(sotto_speculation_params* params, size_t params_size);

/* Sets the sources of drafts and their parameters. With NULL, the initial setting, the session
 * drafts only text that a matcher forces. Errors: INVALID_STATE (the session was created with
 * draft_tokens 0), INVALID_ARGUMENT naming the parameter. After a failure, the old parameters stay
 * in effect. */
SOTTO_API sotto_status sotto_session_set_speculation(sotto_session* session, const sotto_speculation_params* params,
                                                     sotto_error* error);

/* Writes the statistics since init or the last sotto_session_reset_timings to *info. */
SOTTO_API sotto_status sotto_session_get_speculation_info(const sotto_session* session, sotto_speculation_info* info);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_SPECULATION_H */
