/* sotto_session.h - sessions: a stream of tokens that a model evaluates and continues.
 *
 * A program prefills a prompt, and then takes one piece of text per token:
 *
 *   sotto_session_prefill(session, prompt, prompt_count);
 *   do {
 *     status = sotto_session_next(session, &piece);
 *     if (status >= 0) fwrite(piece->text, 1, piece->text_size, stdout);
 *   } while (status == SOTTO_OK);
 *
 * sotto_session_generate does the same with a callback. Prompts and answers form one stream, and a
 * later prefill continues it. The keys and values of its tokens are in the KV ring, which has
 * context_tokens slots; sotto_overflow says what happens when the ring is full.
 *
 * This header also has stop conditions, token healing, scores and hidden states, guidance, saved
 * states and forks.
 */
/* The enums and structs below are generated from capi/params/session.toml: edit that file. */
#ifndef SOTTO_SESSION_H
#define SOTTO_SESSION_H

#include "sotto_model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Session -------------------------------------------------------------- */

/* A stream of tokens that a model evaluates and continues. One thread at a time may use a
 * session. */
typedef struct sotto_session sotto_session;

/* Action when the KV ring is full. C stands for context_tokens and S for sink_tokens. */
typedef int32_t sotto_overflow;
enum {
  /* Generation ends with SOTTO_STOP_CONTEXT_FULL. */
  SOTTO_OVERFLOW_STOP = 0,
  /* The first S tokens stay, each new token overwrites the oldest other one, and positions keep
   * increasing (attention sinks, Xiao et al. 2023). When the model's positions are exhausted, the
   * ring is re-anchored: the sinks and the newest tokens, C/2 in all, are evaluated again from
   * position 0. */
  SOTTO_OVERFLOW_RING = 1,
  /* The sinks and the newest (C-S)/2 tokens are evaluated again from position 0, and all others are
   * dropped. The results are exactly those for the remaining text. */
  SOTTO_OVERFLOW_SHIFT = 2
};

/* Threads that the host provides instead of the session's own. The executor must outlive the
 * session. */
typedef struct sotto_executor {
  uint32_t struct_size;
  uint32_t reserved;
  /* Returns the number of tasks that can run at the same time, in addition to the caller. */
  int32_t (*num_threads)(void* executor_context);
  /* Runs task(context) once, on another thread. The session calls this function on the thread that
   * uses the session. A task that starts late or runs on the calling thread only delays the result.
   * sotto_session_deinit waits until all tasks have run. This function must not call functions of
   * the session or of sessions that work with it: they return INVALID_STATE. */
  void (*schedule)(void* executor_context, void* context, void (*task)(void* context));
  /* Passed to both functions. */
  void* executor_context;
} sotto_executor;

/* Features of a session that need additional memory. */
enum {
  /* Contrastive search. It stores embedding_size floats per slot. */
  SOTTO_FEATURE_HIDDEN_HISTORY = 1,
  /* Decoding by contrasting layers (see sotto_dola). */
  SOTTO_FEATURE_DOLA = 2,
  /* Guidance by a second session (see sotto_session_set_guide). */
  SOTTO_FEATURE_GUIDE = 4
};

/* Parameters of a session, which determine how much memory it needs. */
typedef struct sotto_session_params {
  uint32_t struct_size;
  /* Number of slots in the KV ring. A model with fewer than 16 positions uses all of its positions.
   * Default: 0 (the model's maximum). Range: 16 to max_context_tokens. */
  uint32_t context_tokens;
  /* Number of prompt tokens that are evaluated at once. Larger values are reduced to
   * context_tokens. Default: 128. Range: 1 to 4096. */
  uint32_t batch_tokens;
  /* Number of threads that evaluate tokens. With 1, everything runs on the calling thread.
   * Default: 1. Range: 1 to 64. */
  uint32_t thread_count;
  /* Action when the KV ring is full. Default: STOP. */
  sotto_overflow overflow;
  /* Number of tokens at the start of the stream that RING and SHIFT never drop. Must be 0 with
   * SOTTO_OVERFLOW_STOP. Default: UINT32_MAX (4, or context_tokens / 4 if that is less; 0
   * with SOTTO_OVERFLOW_STOP). Range: 0 to context_tokens / 4. */
  uint32_t sink_tokens;
  /* Threads of the host. If NULL, the session creates its own threads. */
  const sotto_executor* executor;
  /* Maximum number of sequences in a search (sotto_session_search). Default: 0 (no memory
   * for searches). Range: 0 to 64. */
  uint32_t sequence_count;
  /* Maximum number of new tokens per sequence in a search. Default: 0 (128 if sequence_count is
   * not 0). Range: 0 to max_context_tokens. */
  uint32_t sequence_tokens;
  /* Features that need additional memory. Default: 0. */
  uint32_t features;
  /* Bytes reserved for the lists in the sampler's parameters. The lists of the stops get the same
   * amount. Default: 16384. Range: 0 to 16777216. */
  uint32_t list_bytes;
  /* Maximum number of draft tokens that speculation evaluates at once (see sotto_speculation.h).
   * Default: 0 (no memory for speculation). Range: 0 to 15. */
  uint32_t draft_tokens;
  uint32_t reserved;
} sotto_session_params;

/* Current state of a session. */
typedef struct sotto_session_info {
  uint32_t struct_size;
  /* Number of slots in the KV ring. */
  uint32_t context_tokens;
  /* Number of prompt tokens that are evaluated at once. */
  uint32_t batch_tokens;
  /* Number of threads that evaluate tokens. */
  uint32_t thread_count;
  /* Number of tokens at the start of the stream that are never dropped. */
  uint32_t sink_tokens;
  /* Number of tokens whose keys and values are in the KV ring. */
  uint32_t cached_tokens;
  /* Number of tokens in the stream since init or the last reset. */
  uint64_t token_count;
  /* Number of times that the KV ring was re-anchored. */
  uint64_t reanchor_count;
  /* Bytes of keys and values. memory_bytes includes them. */
  uint64_t kv_bytes;
  /* Bytes in use of the memory passed to sotto_session_init. */
  uint64_t memory_bytes;
  /* Number of sequences that a matcher needs to follow this session and its searches. */
  uint32_t matcher_sequence_count;
  /* Why the newest text ended: a SOTTO_STOP_ value, or SOTTO_OK while the text continues. */
  sotto_status stop;
  /* During a call of on_step: the number, in the previous step, of the sequence that the reported
   * sequence continues. 0 in the first step. */
  uint32_t step_parent;
  uint32_t reserved;
} sotto_session_info;

/* Counts of tokens and wall-clock times in nanoseconds, since init or the last
 * sotto_session_reset_timings. */
typedef struct sotto_session_timings {
  uint32_t struct_size;
  uint32_t reserved;
  /* Number of tokens that prefills evaluated. */
  uint64_t prefill_tokens;
  /* Time spent in prefills. */
  uint64_t prefill_ns;
  /* Number of tokens that decoding evaluated: alone, in a batch of sotto_sessions_next, or as
   * accepted drafts. */
  uint64_t decode_tokens;
  /* Time spent evaluating these decode_tokens. */
  uint64_t decode_ns;
  /* Number of tokens that were sampled. */
  uint64_t sample_count;
  /* Time spent on grammar masks, sampler stages and the selection. */
  uint64_t sample_ns;
  /* Number of tokens that were evaluated again when the KV ring was re-anchored. */
  uint64_t reanchor_tokens;
  /* Time spent evaluating these reanchor_tokens. prefill_ns or decode_ns includes it. */
  uint64_t reanchor_ns;
} sotto_session_timings;

/* A token that the model could have generated, with its probability. */
typedef struct sotto_alternative {
  /* The token. */
  sotto_token token;
  /* The log probability of the token under the model, ln p. */
  float log_probability;
} sotto_alternative;

/* A generated token and the text that became available with it. The session owns it; it is valid
 * until the next call with the session. */
typedef struct sotto_piece {
  /* Whole UTF-8 characters; there may be none. An incomplete character is withheld, and so is text
   * that may be the start of a stop string. Bytes that cannot be part of any character are replaced
   * by U+FFFD. */
  const char* text;
  size_t text_size;
  /* The token, or -1 if the piece contains only text that was withheld before. */
  sotto_token token;
  /* Log probability of the token under the model, or NaN unless log_probabilities is set. */
  float log_probability;
  /* Log probability of the token after the sampler's chain, or NaN unless log_probabilities is set. */
  float sampled_log_probability;
  /* Number of elements in `alternatives`. */
  uint32_t alternative_count;
  /* The most likely tokens under the model, most likely first. */
  const sotto_alternative* alternatives;
  /* The bytes of the token as the vocabulary defines them. */
  const char* bytes;
  size_t byte_count;
  /* Nanoseconds until this token was decoded, counted from the beginning of its decoding. If
   * sotto_sessions_next evaluated the token before it in a batch, they are counted from the
   * beginning of that batch. */
  uint64_t elapsed_ns;
  /* Entropy of the model's distribution of this token, before the sampler's chain: H = -sum p ln p,
   * in nats. NaN unless statistics is set. */
  float entropy;
  /* exp(H): the number of equally likely tokens with the same entropy. NaN unless statistics is
   * set. */
  float effective_vocabulary;
  /* Number of tokens left to draw from after the masks and the sampler's chain, or 1 if the
   * selection is greedy. 0 unless statistics is set. */
  uint32_t kept_count;
  /* Repetitiveness of the newest tokens up to this one (see repetition_limit and repetition_window
   * in sotto_stop_params). NaN unless statistics is set. */
  float repetitiveness;
} sotto_piece;

/* Receives a generated token, on the caller's thread. Returns 0 to continue, and any other value to
 * stop the generation. */
typedef int32_t (*sotto_piece_fn)(void* user_data, const sotto_piece* piece);

SOTTO_API void sotto_session_params_init(sotto_session_params* params, size_t params_size);

/* Returns the number of bytes that sotto_session_init needs. The number depends only on these
 * parameters and on the shape of the model, not on the CPU: sotto_memory.h can compute it at
 * compile time. Errors: INVALID_ARGUMENT naming the parameter. */
SOTTO_API sotto_status sotto_session_memory_size(const sotto_model* model, const sotto_session_params* params,
                                                 size_t* memory_size, sotto_error* error);

/* Opens a session. The object is built in `memory`. `model`, `memory` and the executor must outlive
 * it. Errors: as above, MEMORY_TOO_SMALL, MEMORY_MISALIGNED, THREADS_UNAVAILABLE. */
SOTTO_API sotto_status sotto_session_init(const sotto_model* model, const sotto_session_params* params, void* memory,
                                          size_t memory_size, sotto_session** session, sotto_error* error);

/* Closes a session and ends its threads. `session` may be NULL. A second call does nothing if the
 * memory has not been written since. A call in a callback of the session does nothing: the session
 * stays open until the call that runs the callback has returned. */
SOTTO_API void sotto_session_deinit(sotto_session* session);

/* Removes all tokens and restarts the sampler from its seed. All parameters stay in effect. Does
 * nothing in a callback of the sampler, of a search or of the executor. */
SOTTO_API void sotto_session_reset(sotto_session* session);

/* Appends prompt tokens to the stream and evaluates them. On SOTTO_STOP_CANCELLED, the tokens that
 * were already evaluated stay in the stream, and token_count of sotto_session_get_info counts them.
 * Errors, after which nothing was evaluated: INVALID_ARGUMENT (a token outside the vocabulary),
 * PROMPT_TOO_LONG (with SOTTO_OVERFLOW_STOP: the stream and the prompt together do not fit the
 * context). */
SOTTO_API sotto_status sotto_session_prefill(sotto_session* session, const sotto_token* tokens, size_t count);

/* Begins an empty stream with embeddings instead of tokens: `count` rows of embedding_size floats,
 * for models that read more than text, such as images or voices. A row replaces the embedding of a
 * token, and the model adds the embedding of the position. Rows count as tokens, but the sampler,
 * the matchers and token healing do not see them. Such a stream cannot be saved, and it can be
 * rewound only to 0 or to a length that includes a token after the rows. On SOTTO_STOP_CANCELLED
 * the stream is empty.
 *
 * Errors, after which nothing was evaluated: INVALID_ARGUMENT (no rows, or a number that is not
 * finite), INVALID_STATE (a stream that is not empty, or an overflow mode other than STOP),
 * PROMPT_TOO_LONG. */
SOTTO_API sotto_status sotto_session_prefill_embeddings(sotto_session* session, const float* embeddings, size_t count);

/* Generates one token, sets `*piece` and returns SOTTO_OK. When generation ends, it returns the
 * reason instead, and `*piece` has the token -1 and the text that was withheld. An end-of-text or
 * stop token does not become part of the stream. After SOTTO_STOP_CANCELLED and SOTTO_STOP_CALLBACK
 * the next call continues the text. After any other reason, it returns the same reason without text
 * until a call changes the stream, the sampler, the stops, the limit, the matcher or the guide; a
 * prefill of no tokens also continues the text. Errors: INVALID_STATE (nothing was prefilled, or
 * the grammar's text was already complete at the last prefill). */
SOTTO_API sotto_status sotto_session_next(sotto_session* session, const sotto_piece** piece);

/* Generates one token in each of several sessions of the same model. The newest tokens of all
 * sessions are evaluated in one batch; it reads the weights only once. Sets statuses[i] and
 * pieces[i] to what sotto_session_next would return for sessions[i], bit for bit; pieces[i] is NULL
 * if statuses[i] is an error. What happens to one session does not affect the others. Sessions may
 * leave and join the list at any call. After the end of its text, a session may stay in the list
 * and takes no time, so a loop can end when no status is SOTTO_OK.
 *
 * Sessions may differ in everything but the model. The list counts as one session for threads: one
 * thread at a time may call this function or use any of the sessions, and a callback must use none
 * of them.
 *
 * A batch uses the threads of sessions[0]. It has up to 64 sessions, and up to the larger of
 * batch_tokens and sequence_count of the first one that takes part; more sessions take several
 * batches. Some tokens are evaluated outside of a batch, with the same result: those of sessions
 * with draft_tokens, those of guides with another model, those that re-anchor a KV ring, and all
 * but the first of several tokens that banned strings require in one call. sotto_session_prefill
 * evaluates the prompt of each session separately.
 *
 * Returns SOTTO_OK if all statuses are set. Errors, after which nothing has changed:
 * INVALID_ARGUMENT (NULL, a session of another model, or one that is given twice or also is the
 * guide or draft session of another one), INVALID_STATE (a call from a callback). */
SOTTO_API sotto_status sotto_sessions_next(sotto_session* const* sessions, size_t count, const sotto_piece** pieces,
                                           sotto_status* statuses, sotto_error* error);

/* Allows sotto_session_next to generate at most `max_tokens` more tokens, after which it returns
 * SOTTO_STOP_MAX_TOKENS (SIZE_MAX: no limit; max_tokens of sotto_stop_params still applies). A prompt,
 * a reset, a restore, a fork into the session, and sotto_session_generate remove the limit. */
SOTTO_API sotto_status sotto_session_set_limit(sotto_session* session, size_t max_tokens);

/* Prefills the prompt unless it is empty, then generates tokens and calls `on_piece` for each of
 * them. If text was withheld until the end, calls it once more, with the token -1. Ends when a stop
 * applies or max_tokens tokens have been generated (0: none; SIZE_MAX: no limit). The call is
 * equivalent to sotto_session_prefill followed by a loop over sotto_session_next, and returns the
 * SOTTO_STOP_ value that says why generation ended, or an error of these two functions. `prompt`
 * may be NULL when `prompt_count` is 0. `on_piece` may be NULL. */
SOTTO_API sotto_status sotto_session_generate(sotto_session* session, const sotto_token* prompt, size_t prompt_count,
                                              size_t max_tokens, sotto_piece_fn on_piece, void* user_data);

/* Returns the logits after the last token, before the sampler changes them: vocabulary_size floats,
 * valid until the next call with the session. The newest token is evaluated if necessary; if it
 * cannot be evaluated, the function returns SOTTO_STOP_CONTEXT_FULL or SOTTO_STOP_CANCELLED.
 * Errors: INVALID_STATE (the stream is empty). */
SOTTO_API sotto_status sotto_session_logits(sotto_session* session, const float** logits, size_t* count);

/* Truncates the stream to its first `token_count` tokens, as if the others had never been
 * evaluated. The sampler's random numbers are rolled back too. The call takes constant time; the
 * last remaining token is evaluated again when logits are needed. Errors: INVALID_ARGUMENT
 * (token_count exceeds the length of the stream), INVALID_STATE (the remaining tokens attend to
 * slots that the ring has since overwritten, the ring has been re-anchored, or the matcher or the
 * guide cannot be rewound that far). */
SOTTO_API sotto_status sotto_session_rewind(sotto_session* session, uint64_t token_count);

/* Describes in *error why the last call of a session function without an `error` parameter failed.
 * The message gives details, for example how many tokens do not fit. The status is SOTTO_OK if that
 * call did not fail. sotto_session_get_info and the other functions named "get" do not count. */
SOTTO_API sotto_status sotto_session_get_error(const sotto_session* session, sotto_error* error);

/* Makes the running call, or the next one if none is running, stop with SOTTO_STOP_CANCELLED. This
 * function may be called from any thread and from a signal handler. */
SOTTO_API void sotto_session_cancel(sotto_session* session);

/* Writes the state of the session to *info. */
SOTTO_API sotto_status sotto_session_get_info(const sotto_session* session, sotto_session_info* info);
/* Writes the counts and times since init or the last sotto_session_reset_timings to *timings. */
SOTTO_API sotto_status sotto_session_get_timings(const sotto_session* session, sotto_session_timings* timings);
/* Sets all counts and times to zero. Does nothing in a callback of the sampler, of a search or of the
 * executor. */
SOTTO_API void sotto_session_reset_timings(sotto_session* session);

/* ---- Stops ----------------------------------------------------------------- */

/* Conditions that end generation. Tokens and time are counted from the last prefill. Arrays are
 * copied; they may be NULL if their count is 0. */
typedef struct sotto_stop_params {
  uint32_t struct_size;
  /* If true, the emitted text includes the stop string; otherwise it ends before the stop string.
   * Default: 0. */
  uint32_t include_stop_text;
  /* Number of tokens after which generation ends with SOTTO_STOP_MAX_TOKENS. Default: 0 (off). */
  uint64_t max_tokens;
  /* Time in nanoseconds after which generation ends with SOTTO_STOP_TIME. The clock is read once
   * per token. Default: 0 (off). */
  uint64_t max_time_ns;
  /* Generation ends with SOTTO_STOP_REPETITION when the repetitiveness of the last
   * repetition_window tokens exceeds this limit. Repetitiveness is the mean of three measures, from
   * 0 if nothing is repeated to 1 if the text only repeats itself. Let n tokens contain d distinct
   * tokens and b distinct adjacent pairs, and let s be the length of the longest sequence that
   * occurs twice, where the occurrences may overlap. The measures are max(0, 1 - 2 d / n), 1 - b /
   * (n - 1) and min(1, 2 s / n). Repetitiveness is 0 if n < 8. Default: 0 (off). Range: 0 to 1. */
  float repetition_limit;
  /* Number of recent tokens that repetition_limit examines. Only the newest 256 of them count.
   * Default: 64. Range: 8 to context_tokens. */
  uint32_t repetition_window;
  /* Tokens that end generation with SOTTO_STOP_TOKEN. Like the end-of-text token, they do not
   * become part of the stream. */
  const sotto_token* stop_tokens;
  size_t stop_token_count;
  /* Strings of 1 to 1024 bytes that end generation with SOTTO_STOP_STRING. A string may span
   * several tokens. The stream is then cut to the emitted text, so that generation can continue it.
   * If the cut is inside a token, other tokens that spell its first part replace it, each as long
   * as possible. It stays whole if the vocabulary has no such tokens or the context no space for
   * them. The stream is not cut if it cannot be rewound that far (see sotto_session_rewind). */
  const sotto_text* stop_strings;
  size_t stop_string_count;
  /* Strings that must not be generated. When the text contains one, the stream is rolled back to
   * the token where the string begins, and another token is drawn there. Tokens that may belong to
   * a banned string therefore wait before they are emitted. At most 32 of them wait: after that,
   * the oldest one is emitted and stays. Generation ends with SOTTO_STOP_BANNED if every
   * continuation fails, or if too many tokens are rejected before the next one is emitted (1024, or
   * 256 rejections that still matter). */
  const sotto_text* banned_strings;
  size_t banned_string_count;
} sotto_stop_params;

SOTTO_API void sotto_stop_params_init(sotto_stop_params* params, size_t params_size);

/* Replaces the stop conditions of the session. Errors: INVALID_ARGUMENT naming the parameter; the
 * lists together may take list_bytes of sotto_session_params. After a failure, the old conditions
 * stay in effect. */
SOTTO_API sotto_status sotto_session_set_stops(sotto_session* session, const sotto_stop_params* params,
                                               sotto_error* error);

/* ---- Prompts that end inside a word ------------------------------------------ */

/* Token healing, for a prompt that ends inside a word. Removes the last tokens of the prompt, and
 * restricts the next tokens so that they spell the removed bytes and may continue beyond them. The
 * emitted text omits these bytes, because they are already part of the prompt. Call this function
 * after the prefill; nothing changes if the end of the prompt is not the beginning of a longer
 * token. Errors: INVALID_STATE (nothing was prefilled since the last generated token),
 * TOKENIZER_MISSING. */
SOTTO_API sotto_status sotto_session_heal(sotto_session* session);

/* ---- Scores and hidden states ------------------------------------------------ */

/* Likelihood of a text under the model. */
typedef struct sotto_score {
  uint32_t struct_size;
  uint32_t reserved;
  /* Number of scored tokens. The first token of a stream has no context and is not scored. */
  uint64_t token_count;
  /* Sum of the log probabilities, ln p. */
  double log_probability;
  /* exp(-log_probability / token_count), or NaN if no token was scored. */
  double perplexity;
} sotto_score;

/* Evaluates tokens as sotto_session_prefill does and computes the probability of each of them,
 * given the tokens before it. `log_probabilities` is NULL, or an array of `count` elements that
 * receives ln p of each token, or NaN for the first token of the stream. On SOTTO_STOP_CANCELLED,
 * only the elements of evaluated tokens are set. */
SOTTO_API sotto_status sotto_session_score(sotto_session* session, const sotto_token* tokens, size_t count,
                                           float* log_probabilities, sotto_score* score);

/* Returns the hidden state of the last token after the final LayerNorm: embedding_size floats,
 * valid until the next call with the session. The newest token is evaluated if necessary. Stops and
 * errors: as sotto_session_logits. */
SOTTO_API sotto_status sotto_session_hidden(sotto_session* session, const float** hidden, size_t* count);

/* Combination of the hidden states of a text into one embedding. */
typedef int32_t sotto_pooling;
enum {
  /* The state of the last token. */
  SOTTO_POOL_LAST = 0,
  /* The mean of all states. */
  SOTTO_POOL_MEAN = 1
};

/* Evaluates tokens as sotto_session_prefill does, and writes their pooled hidden states after the
 * final LayerNorm to `embedding`: embedding_size floats, not normalized. On SOTTO_STOP_CANCELLED,
 * `embedding` has no meaning. Errors: INVALID_ARGUMENT (no tokens, or a token outside the
 * vocabulary). */
SOTTO_API sotto_status sotto_session_embed(sotto_session* session, const sotto_token* tokens, size_t count,
                                           sotto_pooling pooling, float* embedding);

/* ---- Guidance by a second session ---------------------------------------------- */

/* Methods of guidance: a second session, the guide, changes the logits of the first one. */
typedef int32_t sotto_guide_mode;
enum {
  /* No guide. */
  SOTTO_GUIDE_OFF = 0,
  /* Classifier-free guidance (Sanchez et al. 2023): the logits become scale (ln p - ln p_guide) +
   * ln p_guide. The guide runs the same model and has been prefilled with the negative prompt. */
  SOTTO_GUIDE_CFG = 1,
  /* Contrastive decoding (Li et al. 2022; O'Brien and Lewis 2023): the logits become (1+beta) l -
   * beta l_guide for tokens with p >= alpha max p, and all other tokens are removed. The guide runs
   * a weaker model with the same vocabulary over the same prompt. */
  SOTTO_GUIDE_CONTRAST = 2
};

/* Parameters of guidance. */
typedef struct sotto_guide_params {
  uint32_t struct_size;
  /* Selects how the guide changes the logits. Default: CFG. */
  sotto_guide_mode mode;
  /* Strength of CFG. Default: 1.5. Range: 0 to 100. 1 disables it. */
  float scale;
  /* CONTRAST removes tokens that are less likely than this fraction of the largest probability.
   * Default: 0.1. Range: greater than 0 and at most 1. */
  float alpha;
  /* Strength of CONTRAST. Default: 0.5. Range: 0 to 100. */
  float beta;
  uint32_t reserved;
} sotto_guide_params;

SOTTO_API void sotto_guide_params_init(sotto_guide_params* params, size_t params_size);

/* Sets the guide, or removes it if `guide` is NULL. From now on, the guide appends each token that
 * this session generates, and rolls back with it. Until it is removed, the guide must stay open,
 * must run on the same thread, and must not be used for anything else. The session needs
 * SOTTO_FEATURE_GUIDE, and it cannot search while it has a guide. Errors: INVALID_ARGUMENT naming
 * the parameter or the vocabularies, INVALID_STATE. */
SOTTO_API sotto_status sotto_session_set_guide(sotto_session* session, sotto_session* guide,
                                               const sotto_guide_params* params, sotto_error* error);

/* ---- Saved states ------------------------------------------------------------ */

/* Returns the number of bytes that sotto_session_save would write now. Both functions return
 * INVALID_STATE in a callback and for a stream that begins with embeddings. */
SOTTO_API sotto_status sotto_session_saved_size(const sotto_session* session, size_t* size);

/* Saves the stream: its tokens, keys and values, the state of the sampler, and withheld text. The
 * random numbers need no state, because they follow from the seed and the positions. Parameters are
 * not saved, so the sampler and the stops have to be set again after a restore. The bytes are the
 * same on every platform. `*size` receives the number of bytes needed, even with
 * SOTTO_BUFFER_TOO_SMALL. `bytes` may be NULL when `capacity` is 0. */
SOTTO_API sotto_status sotto_session_save(const sotto_session* session, void* bytes, size_t capacity, size_t* size);

/* Restores a saved stream. The session must have the same model, context_tokens, sink_tokens and
 * overflow as the saved one, and SOTTO_FEATURE_HIDDEN_HISTORY if that had it and only then; with the
 * same sampler and stops, it then generates the same tokens. `bytes` may come from an untrusted source. Errors, after
 * which the session is unchanged: STATE_CORRUPT, INVALID_ARGUMENT (a state of another model, or of a session with other
 * parameters). */
SOTTO_API sotto_status sotto_session_restore(sotto_session* session, const void* bytes, size_t size,
                                             sotto_error* error);

/* Makes `to` a copy of `from`, as saving and restoring would, but without intermediate bytes. */
SOTTO_API sotto_status sotto_session_fork(const sotto_session* from, sotto_session* to, sotto_error* error);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_SESSION_H */
