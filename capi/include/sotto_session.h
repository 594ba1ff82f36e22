/* sotto_session.h - sessions: streams of tokens that a model continues. Prefill and generation, stops, token healing,
 * scores and hidden states, a second session as guide, saved states and forks.
 */
#ifndef SOTTO_SESSION_H
#define SOTTO_SESSION_H

#include "sotto_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Session -------------------------------------------------------------- */

/* A stream of tokens over a model. Only one thread at a time may use it. */
typedef struct sotto_session sotto_session;

/* What happens when the KV ring is full. C is context_tokens, S is sink_tokens. */
typedef int32_t sotto_overflow;
enum {
  /* Generation ends with SOTTO_STOP_CONTEXT_FULL. */
  SOTTO_OVERFLOW_STOP = 0,
  /* The first S tokens stay, the oldest other token is overwritten, and positions continue to
   * increase (attention sinks, Xiao et al. 2023). At the last learned position the ring re-anchors:
   * the sinks and the newest tokens, C/2 together, are evaluated again from position 0. */
  SOTTO_OVERFLOW_RING = 1,
  /* The sinks and the newer half of the rest, (C-S)/2 tokens, are evaluated again from position 0.
   * Exact with respect to the kept text. */
  SOTTO_OVERFLOW_SHIFT = 2
};

/* Threads that the host provides. Both functions are called from the session's thread, and the
 * executor must outlive the session. */
typedef struct sotto_executor {
  uint32_t struct_size;
  uint32_t reserved;
  /* Returns how many tasks can run at once in addition to the caller. */
  int32_t (*num_threads)(void* executor_context);
  /* Must run task(context) on another thread without delay. */
  void (*schedule)(void* executor_context, void* context, void (*task)(void* context));
  /* Passed to both functions. */
  void* executor_context;
} sotto_executor;

/* Features of a session that need memory of their own. */
enum {
  /* Contrastive search, which needs embedding_size floats per slot. */
  SOTTO_FEATURE_HIDDEN_HISTORY = 1,
  /* Decoding by contrasting layers (sotto_dola). */
  SOTTO_FEATURE_DOLA = 2,
  /* A guide (sotto_session_set_guide). */
  SOTTO_FEATURE_GUIDE = 4
};

/* Parameters of a session, which determine its memory. */
typedef struct sotto_session_params {
  uint32_t struct_size;
  /* Number of slots of the KV ring. For a model with fewer than 16 positions it is their number.
   * Default 0: the model's maximum; from 16 to max_context_tokens. */
  uint32_t context_tokens;
  /* Number of tokens that a prefill evaluates at once, limited to context_tokens. Default 128; from
   * 1 to 4096. */
  uint32_t batch_tokens;
  /* Number of threads that evaluate tokens. With 1 everything runs on the calling thread. Default
   * 1; from 1 to 64. */
  uint32_t thread_count;
  /* What happens when the KV ring is full. Default STOP. */
  sotto_overflow overflow;
  /* Number of tokens at the beginning that RING and SHIFT keep. Must be 0 with SOTTO_OVERFLOW_STOP.
   * Default UINT32_MAX: 4, or context_tokens / 4 if that is less; 0 with SOTTO_OVERFLOW_STOP; from
   * 0 to context_tokens / 4. */
  uint32_t sink_tokens;
  /* Threads of the host. With NULL the session creates its own. */
  const sotto_executor* executor;
  /* Maximal number of sequences of sotto_session_search. Default 0: no memory for searches; from 0
   * to 64. */
  uint32_t sequence_count;
  /* Maximal number of new tokens per sequence of a search. Default 0: 128 if sequence_count is not
   * 0; from 0 to max_context_tokens. */
  uint32_t sequence_tokens;
  /* Features that need memory of their own. Default 0. */
  uint32_t features;
  /* Bytes of memory for the lists of the sampler, and the same amount for those of the stops.
   * Default 16384; from 0 to 16777216. */
  uint32_t list_bytes;
  /* Maximal number of tokens that speculation evaluates ahead of the stream (sotto_speculation.h).
   * Default 0: no memory for speculation; from 0 to 15. */
  uint32_t draft_tokens;
  uint32_t reserved;
} sotto_session_params;

/* State of a session. */
typedef struct sotto_session_info {
  uint32_t struct_size;
  /* Number of slots of the KV ring. */
  uint32_t context_tokens;
  /* Number of tokens that are evaluated at once. */
  uint32_t batch_tokens;
  /* Number of threads that evaluate tokens. */
  uint32_t thread_count;
  /* Number of tokens at the beginning that are kept. */
  uint32_t sink_tokens;
  /* Number of tokens whose keys and values are in the ring. */
  uint32_t cached_tokens;
  /* Number of tokens of the stream since init or reset. */
  uint64_t token_count;
  /* How often the ring was evaluated again. */
  uint64_t reanchor_count;
  /* Bytes of keys and values, which are a part of memory_bytes. */
  uint64_t kv_bytes;
  /* Bytes that are in use of the memory passed to sotto_session_init. */
  uint64_t memory_bytes;
} sotto_session_info;

/* Wall-clock times since init or sotto_session_reset_timings, in nanoseconds. */
typedef struct sotto_session_timings {
  uint32_t struct_size;
  uint32_t reserved;
  /* Number of tokens evaluated in prefills. */
  uint64_t prefill_tokens;
  /* Time for them. */
  uint64_t prefill_ns;
  /* Number of tokens evaluated one at a time by sotto_session_next and sotto_session_generate. */
  uint64_t decode_tokens;
  /* Time for them. */
  uint64_t decode_ns;
  /* Number of tokens sampled. */
  uint64_t sample_count;
  /* Time for grammar masks, sampler stages and selection. */
  uint64_t sample_ns;
  /* Number of tokens that RING and SHIFT evaluated again. */
  uint64_t reanchor_tokens;
  /* Time for them, also part of prefill_ns or decode_ns. */
  uint64_t reanchor_ns;
} sotto_session_timings;

/* A token that could have been generated. */
typedef struct sotto_alternative {
  /* The token. */
  sotto_token token;
  /* ln p under the model. */
  float log_probability;
} sotto_alternative;

/* One generated token. It is owned by the session and valid until the session's next call. */
typedef struct sotto_piece {
  /* Text of whole UTF-8 characters, which may be empty. Bytes that begin a character are withheld
   * until it is complete, and text that may begin a stop string until that is decided. Bytes that
   * can never be part of a character become U+FFFD. */
  const char* text;
  size_t text_size;
  /* The token, or -1 if there is only text that was withheld before. */
  sotto_token token;
  /* ln p under the model, or NaN unless requested. */
  float log_probability;
  /* ln p after the sampler's chain, or NaN unless requested. */
  float sampled_log_probability;
  /* Number of elements of `alternatives`. */
  uint32_t alternative_count;
  /* The most likely tokens under the model, best first. */
  const sotto_alternative* alternatives;
  /* The raw bytes of the token. */
  const char* bytes;
  size_t byte_count;
  /* Time from the call that began this token to its end. */
  uint64_t elapsed_ns;
} sotto_piece;

/* Receives a generated token on the caller's thread. Returns 0 to continue, or anything else to
 * stop. */
typedef int32_t (*sotto_piece_fn)(void* user_data, const sotto_piece* piece);

SOTTO_API void sotto_session_params_init(sotto_session_params* params, size_t params_size);

/* Returns the number of bytes that sotto_session_init needs. It depends only on the model's shape
 * and these parameters, not on the CPU. sotto_memory.h computes the same figure at compile time.
 * Errors: INVALID_ARGUMENT naming the parameter. */
SOTTO_API sotto_status sotto_session_memory_size(const sotto_model* model, const sotto_session_params* params,
                                                 size_t* memory_size, sotto_error* error);

/* Builds a session in `memory`. `model`, `memory` and the executor must outlive it. Errors: as
 * above, MEMORY_TOO_SMALL, MEMORY_MISALIGNED, THREADS_UNAVAILABLE. */
SOTTO_API sotto_status sotto_session_init(const sotto_model* model, const sotto_session_params* params, void* memory,
                                          size_t memory_size, sotto_session** session, sotto_error* error);

/* Ends the session's threads. `session` may be NULL. */
SOTTO_API void sotto_session_deinit(sotto_session* session);

/* Removes all tokens and restarts the sampler from its seed. The parameters stay. */
SOTTO_API void sotto_session_reset(sotto_session* session);

/* Evaluates prompt tokens after those already there. On SOTTO_STOP_CANCELLED the tokens that were
 * evaluated stay; token_count of sotto_session_get_info returns their number. Errors, after which
 * nothing was evaluated: INVALID_ARGUMENT (a token outside the vocabulary), PROMPT_TOO_LONG (with
 * SOTTO_OVERFLOW_STOP the stream and the prompt do not fit the context together). */
SOTTO_API sotto_status sotto_session_prefill(sotto_session* session, const sotto_token* tokens, size_t count);

/* Generates one token: returns SOTTO_OK and sets `*piece`. At a stop it returns the reason, and
 * `*piece` has token -1 and the text that was withheld. The token that ends a text is not part of
 * the stream. Errors: INVALID_STATE (nothing was prefilled). */
SOTTO_API sotto_status sotto_session_next(sotto_session* session, const sotto_piece** piece);

/* Prefills, then calls `on_piece` for each token until a stop, or for max_tokens tokens (0: none;
 * SIZE_MAX: no limit). It is equivalent to a loop over sotto_session_next. Returns the SOTTO_STOP_
 * reason or an error: those of sotto_session_prefill and sotto_session_next. `prompt` may be NULL
 * when `prompt_count` is 0; `on_piece` may be NULL. */
SOTTO_API sotto_status sotto_session_generate(sotto_session* session, const sotto_token* prompt, size_t prompt_count,
                                              size_t max_tokens, sotto_piece_fn on_piece, void* user_data);

/* Returns the logits after the last token, before the sampler: vocabulary_size floats, valid until
 * the session's next call. Evaluates the newest token if that has not been done. If it cannot be
 * evaluated, returns SOTTO_STOP_CONTEXT_FULL or SOTTO_STOP_CANCELLED. Errors: INVALID_STATE (no
 * tokens). */
SOTTO_API sotto_status sotto_session_logits(sotto_session* session, const float** logits, size_t* count);

/* Cuts the stream after its first `token_count` tokens, as if the rest had never been evaluated.
 * The sampler's random numbers are rolled back as well. The call itself costs nothing. The last
 * remaining token is evaluated again when logits are next needed. Errors: INVALID_ARGUMENT (beyond
 * the end), INVALID_STATE (the ring has overwritten slots that those tokens attend to, or has
 * re-anchored since). */
SOTTO_API sotto_status sotto_session_rewind(sotto_session* session, uint64_t token_count);

/* Writes to *error why the session's last call of a function without an `error` parameter failed:
 * how many tokens do not fit, or what was missing. Its status is SOTTO_OK if that call did not
 * fail. */
SOTTO_API sotto_status sotto_session_get_error(const sotto_session* session, sotto_error* error);

/* Makes the running call, or the next one if none is running, stop with SOTTO_STOP_CANCELLED. Any
 * thread and any signal handler may call it. */
SOTTO_API void sotto_session_cancel(sotto_session* session);

/* Writes the state of the session to *info. */
SOTTO_API sotto_status sotto_session_get_info(const sotto_session* session, sotto_session_info* info);
/* Writes the counts and times since init or the last reset to *timings. */
SOTTO_API sotto_status sotto_session_get_timings(const sotto_session* session, sotto_session_timings* timings);
/* Sets all counts and times to zero. */
SOTTO_API void sotto_session_reset_timings(sotto_session* session);

/* ---- Stops ----------------------------------------------------------------- */

/* Conditions that end generation. Counts and times begin with the last prefill. Arrays are copied
 * and may be NULL if their count is 0. */
typedef struct sotto_stop_params {
  uint32_t struct_size;
  /* Whether a stop string is part of the text. Otherwise the text ends before it. Default 0. */
  uint32_t include_stop_text;
  /* Number of tokens after which generation ends with SOTTO_STOP_MAX_TOKENS. Default 0 (off). */
  uint64_t max_tokens;
  /* Time in nanoseconds after which generation ends with SOTTO_STOP_TIME. It is checked once per
   * token. Default 0 (off). */
  uint64_t max_time_ns;
  /* Generation ends with SOTTO_STOP_REPETITION when the repetitiveness (0 to 1) of the newest
   * repetition_window tokens exceeds this. Default 0 (off); from 0 to 1. */
  float repetition_limit;
  /* Number of the newest tokens that repetition_limit considers. Default 64; from 8 to
   * context_tokens. */
  uint32_t repetition_window;
  /* Tokens that end generation with SOTTO_STOP_TOKEN. Like the end-of-text token they are not part
   * of the stream. */
  const sotto_token* stop_tokens;
  size_t stop_token_count;
  /* Strings of 1 to 1024 bytes that end generation with SOTTO_STOP_STRING. They are found across
   * token borders as well. Their tokens stay in the stream. */
  const sotto_text* stop_strings;
  size_t stop_string_count;
  /* Strings that are never generated. When one is complete, the stream is rolled back to the token
   * in which it begins, and another token is drawn there. Tokens are emitted once they cannot be
   * part of a banned string. If all continuations fail, generation ends with SOTTO_STOP_BANNED. */
  const sotto_text* banned_strings;
  size_t banned_string_count;
} sotto_stop_params;

SOTTO_API void sotto_stop_params_init(sotto_stop_params* params, size_t params_size);

/* Replaces the session's stops. Errors: INVALID_ARGUMENT naming the parameter (the lists together
 * may take list_bytes of sotto_session_params). On failure the old stops stay. */
SOTTO_API sotto_status sotto_session_set_stops(sotto_session* session, const sotto_stop_params* params,
                                               sotto_error* error);

/* ---- Prompts that end inside a word ------------------------------------------ */

/* Token healing: removes the last tokens of the prompt and restricts the next ones to those that
 * spell the removed bytes and continue from there. Their text omits these bytes, which the prompt
 * already has. It must be called after the prefill. A prompt whose end is not the beginning of a
 * longer token stays as it is. Errors: INVALID_STATE (nothing was prefilled since the last token),
 * TOKENIZER_MISSING. */
SOTTO_API sotto_status sotto_session_heal(sotto_session* session);

/* ---- Scores and hidden states ------------------------------------------------ */

/* How likely a text is. */
typedef struct sotto_score {
  uint32_t struct_size;
  uint32_t reserved;
  /* Number of tokens scored, which are all except a first token with nothing before it. */
  uint64_t token_count;
  /* Sum of ln p under the model. */
  double log_probability;
  /* exp(-log_probability / token_count), or NaN without tokens. */
  double perplexity;
} sotto_score;

/* Evaluates tokens as sotto_session_prefill does and computes the probability of each given those
 * before it. `log_probabilities` has `count` elements or is NULL. It receives ln p of each token,
 * and NaN for a first token with nothing before it. On SOTTO_STOP_CANCELLED only the elements of
 * evaluated tokens are set. */
SOTTO_API sotto_status sotto_session_score(sotto_session* session, const sotto_token* tokens, size_t count,
                                           float* log_probabilities, sotto_score* score);

/* Returns the last token's hidden state after the final LayerNorm, which is embedding_size floats,
 * valid until the session's next call. Evaluates the newest token if necessary. Stops and errors
 * are those of sotto_session_logits. */
SOTTO_API sotto_status sotto_session_hidden(sotto_session* session, const float** hidden, size_t* count);

/* How the hidden states of a text become one embedding. */
typedef int32_t sotto_pooling;
enum {
  /* The last token's state. */
  SOTTO_POOL_LAST = 0,
  /* The mean of all states. */
  SOTTO_POOL_MEAN = 1
};

/* Evaluates tokens as sotto_session_prefill does and writes their pooled hidden states after
 * the final LayerNorm to `embedding` (embedding_size floats, not normalised).
 * Errors: INVALID_ARGUMENT (no tokens, or one outside the vocabulary). */
SOTTO_API sotto_status sotto_session_embed(sotto_session* session, const sotto_token* tokens, size_t count,
                                           sotto_pooling pooling, float* embedding);

/* ---- A second session as guide ----------------------------------------------- */

/* How a second session, the guide, changes the logits of the first. */
typedef int32_t sotto_guide_mode;
enum {
  /* No guide. */
  SOTTO_GUIDE_OFF = 0,
  /* Classifier-free guidance (Sanchez et al. 2023): scale (ln p - ln p_guide) + ln p_guide. The
   * guide, of the same model, has been prefilled with the negative prompt. */
  SOTTO_GUIDE_CFG = 1,
  /* Contrastive decoding (Li et al. 2022; O'Brien and Lewis 2023): (1+beta) l - beta l_guide for
   * tokens with p >= alpha max p; the others are removed. The guide runs a weaker model with the
   * same vocabulary over the same prompt. */
  SOTTO_GUIDE_CONTRAST = 2
};

/* Parameters of guidance by a second session. */
typedef struct sotto_guide_params {
  uint32_t struct_size;
  /* How the guide changes the logits. Default CFG. */
  sotto_guide_mode mode;
  /* Strength of CFG. Default 1.5; from 0 to 100; 1: off. */
  float scale;
  /* Fraction of the largest probability that CONTRAST requires of a token. Default 0.1; greater
   * than 0 and at most 1. */
  float alpha;
  /* Strength of CONTRAST. Default 0.5; from 0 to 100. */
  float beta;
  uint32_t reserved;
} sotto_guide_params;

SOTTO_API void sotto_guide_params_init(sotto_guide_params* params, size_t params_size);

/* Sets a guide, which from now on follows each token that this session generates or rolls back. The
 * guide must outlive its use, belongs to the same thread, and must not be used otherwise in the
 * meantime. A NULL `guide` ends the guidance. Needs SOTTO_FEATURE_GUIDE. Searches reject a session
 * with a guide. Errors: INVALID_ARGUMENT naming the parameter or the vocabularies, INVALID_STATE. */
SOTTO_API sotto_status sotto_session_set_guide(sotto_session* session, sotto_session* guide,
                                               const sotto_guide_params* params, sotto_error* error);

/* ---- States ------------------------------------------------------------------ */

/* Returns the number of bytes that sotto_session_save would write now. */
SOTTO_API sotto_status sotto_session_saved_size(const sotto_session* session, size_t* size);

/* Writes the stream: tokens, keys and values, the state of the sampler, and withheld text. The
 * sampler's random numbers follow from its seed and the tokens' positions. The bytes are the same
 * on every platform. Parameters are not included, so sampler and stops have to be set again after a
 * restore. `*size` receives the number of bytes written. Errors: BUFFER_TOO_SMALL. */
SOTTO_API sotto_status sotto_session_save(const sotto_session* session, void* bytes, size_t capacity, size_t* size);

/* Restores a saved state in a session of the same model, context_tokens, sink_tokens, overflow and
 * features. With the same sampler and stops it generates the same tokens as the saved session would
 * have. `bytes` may come from an untrusted source. Errors, which change nothing: STATE_CORRUPT,
 * INVALID_ARGUMENT (a session of another shape). */
SOTTO_API sotto_status sotto_session_restore(sotto_session* session, const void* bytes, size_t size,
                                             sotto_error* error);

/* Makes `to` a copy of `from`, as save and restore do, without intermediate bytes. */
SOTTO_API sotto_status sotto_session_fork(const sotto_session* from, sotto_session* to, sotto_error* error);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_SESSION_H */
