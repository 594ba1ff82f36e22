/* sotto_speculation.h - speculative decoding: several tokens from one evaluation, and not a bit
 * of what comes out changed. Part of sotto.h, which includes it.
 *
 * A session made with draft_tokens guesses what follows, evaluates its guesses in one batch with
 * the token before them, and draws each token from its own row of logits, as it would without.
 * A guess that equals the token drawn has saved an evaluation; the rest is dropped. Tokens, text,
 * probabilities, saved states: everything is the same in every mode of sampling, with grammars,
 * guides, stops and banned strings. Only time and sotto_speculation_info differ.
 *
 * A guess d is accepted with the probability p(d) that the sampler gives it, which is the
 * min(1, p/q) of speculative sampling (Leviathan et al. 2023) for a draft that is always d.
 */
#ifndef SOTTO_SPECULATION_H
#define SOTTO_SPECULATION_H

#include "sotto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where guesses come from, as bits. Text that a matcher forces is evaluated ahead whenever the
 * session has memory for it, whatever the sources. Behind it, of the chosen ones, the first that
 * proposes anything is asked, in this order: CALLBACK, LOOKUP, SESSION, EARLY_EXIT, LOOKAHEAD. */
enum {
  SOTTO_DRAFT_LOOKUP = 1,     /* what followed the last tokens where they came before */
  SOTTO_DRAFT_SESSION = 2,    /* a session with a smaller model of the same vocabulary; it draws
                                 with this session's sampler and random numbers */
  SOTTO_DRAFT_EARLY_EXIT = 4, /* the model's own first layers */
  SOTTO_DRAFT_LOOKAHEAD = 8,  /* n-grams of what the model said behind guesses that were wrong */
  SOTTO_DRAFT_CALLBACK = 16   /* a function of the caller: heads trained for the model (Medusa,
                                 EAGLE), or whatever knows what comes */
};

/* Writes at most `capacity` tokens that may follow to `drafts` and returns how many. `tokens` are
 * the newest of the stream, at most context_tokens; `hidden` is the state that the last of them
 * was drawn from, after the final LayerNorm: embedding_size floats, or NULL where it is not at
 * hand. Guesses from one on that is no token are ignored, and all where more are returned than
 * there is room. It must not call the session. */
typedef size_t (*sotto_draft_fn)(void* user_data, const sotto_token* tokens, size_t token_count, const float* hidden,
                                 size_t hidden_count, sotto_token* drafts, size_t capacity);

typedef struct sotto_speculation_params {
  uint32_t struct_size;
  uint32_t sources;      /* SOTTO_DRAFT_ bits; default LOOKUP */
  uint32_t draft_tokens; /* most at a time, up to draft_tokens of the session; default 0: these.
                            Guesses that fail make for shorter ones, and then for pauses */
  uint32_t min_match;    /* LOOKUP: fewest last tokens that must have come before, 1 ... 64;
                            default 2 */
  uint32_t max_match;    /* the most that are compared, min_match ... 64; default 8 */
  uint32_t exit_layer;   /* EARLY_EXIT: layers evaluated, below the model's; default 0: a third */
  float draft_threshold; /* SESSION, EARLY_EXIT: guesses end where the draft gives less
                            probability than this, 0 ... 1; default 0: never */
  uint32_t reserved;
  sotto_session* draft_session; /* SESSION. Is reset now and at the end, must outlive its use,
                                   belongs to the same thread, and is not used meanwhile */
  sotto_draft_fn draft;         /* CALLBACK */
  void* user_data;
} sotto_speculation_params;

typedef struct sotto_speculation_info {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t batch_count;           /* evaluations with guesses */
  uint64_t proposed_count;        /* guesses evaluated */
  uint64_t accepted_count;        /* of them, those that came */
  uint64_t forced_proposed_count; /* part of both: forced by a matcher */
  uint64_t forced_accepted_count;
  uint64_t draft_ns; /* spent on making guesses */
} sotto_speculation_info;

SOTTO_API void sotto_speculation_params_init(sotto_speculation_params* params, size_t params_size);

/* How the session guesses from here on; NULL: only what a matcher forces, as before the first
 * call. Errors: INVALID_STATE (the session was made with draft_tokens 0), INVALID_ARGUMENT naming
 * the parameter; the old way stays. */
SOTTO_API sotto_status sotto_session_set_speculation(sotto_session* session, const sotto_speculation_params* params,
                                                     sotto_error* error);

/* Counts since init or sotto_session_reset_timings. */
SOTTO_API sotto_status sotto_session_get_speculation_info(const sotto_session* session, sotto_speculation_info* info);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_SPECULATION_H */
