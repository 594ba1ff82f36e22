/* sotto_session.h - what a session offers beside prefill and next: stops, banned strings,
 * token healing, scores and hidden states, a second session as guide, saved states and forks.
 * Part of sotto.h, which includes it.
 */
#ifndef SOTTO_SESSION_H
#define SOTTO_SESSION_H

#include "sotto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Stops ----------------------------------------------------------------- */

/* Counts and times begin with the last prefill. Arrays are copied and may be NULL where their
 * count is 0. */
typedef struct sotto_stop_params {
  uint32_t struct_size;
  uint32_t include_stop_text;     /* 1: the stop string is part of the text; default 0: the text
                                     ends before it */
  uint64_t max_tokens;            /* SOTTO_STOP_MAX_TOKENS; default 0: none */
  uint64_t max_time_ns;           /* SOTTO_STOP_TIME, checked once a token; default 0: none */
  float repetition_limit;         /* SOTTO_STOP_REPETITION once the repetitiveness (0 ... 1) of the
                                     newest repetition_window tokens exceeds it; default 0: off */
  uint32_t repetition_window;     /* default 64; 8 ... context_tokens */
  const sotto_token* stop_tokens; /* SOTTO_STOP_TOKEN; like the end of text not part of the
                                     stream */
  size_t stop_token_count;
  const sotto_text* stop_strings; /* SOTTO_STOP_STRING wherever one ends, across tokens; 1 ...
                                     1024 bytes each. The tokens stay in the stream */
  size_t stop_string_count;
  /* Strings that never come: where one would, the stream goes back to the token it begins in
   * and takes another there. Tokens are handed out once they cannot belong to one. If no way
   * round is found: SOTTO_STOP_BANNED. */
  const sotto_text* banned_strings;
  size_t banned_string_count;
} sotto_stop_params;

SOTTO_API void sotto_stop_params_init(sotto_stop_params* params, size_t params_size);

/* Replaces the session's stops. Errors: INVALID_ARGUMENT naming the parameter (the lists
 * together may take list_bytes of sotto_session_params); the old ones stay. */
SOTTO_API sotto_status sotto_session_set_stops(sotto_session* session, const sotto_stop_params* params,
                                               sotto_error* error);

/* ---- Prompts that end inside a word ------------------------------------------ */

/* Token healing: takes the last token back, and limits the next ones to those that begin with
 * its bytes or go on with the rest of them; their text leaves these bytes out, as the prompt
 * has them already. Call it after the prefill. A prompt that no other token could continue
 * stays as it is. Errors: INVALID_STATE (nothing was prefilled since the last token),
 * TOKENIZER_MISSING. */
SOTTO_API sotto_status sotto_session_heal(sotto_session* session);

/* ---- Scores and hidden states ------------------------------------------------ */

typedef struct sotto_score {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t token_count;   /* scored: all but a first token with nothing before it */
  double log_probability; /* sum of ln p under the model */
  double perplexity;      /* exp(-log_probability / token_count); NaN without tokens */
} sotto_score;

/* Evaluates tokens as sotto_session_prefill does, and tells how likely each was after those
 * before it. `log_probabilities` (`count`, or NULL) receives ln p of each, NaN for a first
 * token with nothing before it. On SOTTO_STOP_CANCELLED only the evaluated ones are set. */
SOTTO_API sotto_status sotto_session_score(sotto_session* session, const sotto_token* tokens, size_t count,
                                           float* log_probabilities, sotto_score* score);

/* The last token's hidden state after the final LayerNorm: embedding_size floats, valid until
 * the session's next call. Evaluates what is still to be done; stops and errors are those of
 * sotto_session_logits. */
SOTTO_API sotto_status sotto_session_hidden(sotto_session* session, const float** hidden, size_t* count);

typedef int32_t sotto_pooling;
enum { SOTTO_POOL_LAST = 0, SOTTO_POOL_MEAN = 1 };

/* Evaluates tokens as sotto_session_prefill does and writes their pooled hidden states after
 * the final LayerNorm to `embedding` (embedding_size floats, not normalised).
 * Errors: INVALID_ARGUMENT (no tokens, or one outside the vocabulary). */
SOTTO_API sotto_status sotto_session_embed(sotto_session* session, const sotto_token* tokens, size_t count,
                                           sotto_pooling pooling, float* embedding);

/* ---- A second session as guide ----------------------------------------------- */

typedef int32_t sotto_guide_mode;
enum {
  SOTTO_GUIDE_OFF = 0,
  /* Classifier-free guidance (Sanchez et al. 2023): scale (ln p - ln p_guide) + ln p_guide.
   * The guide, of the same model, has been prefilled with the negative prompt. */
  SOTTO_GUIDE_CFG = 1,
  /* Contrastive decoding (Li et al. 2022; O'Brien and Lewis 2023):
   * (1+beta) l - beta l_guide for tokens with p >= alpha max p, the others go. The guide runs
   * a weaker model with the same vocabulary over the same prompt. */
  SOTTO_GUIDE_CONTRAST = 2
};

typedef struct sotto_guide_params {
  uint32_t struct_size;
  sotto_guide_mode mode; /* default FREE */
  float scale;           /* default 1.5; 1: no guidance; 0 ... 100 */
  float alpha;           /* default 0.1; above 0 ... 1 */
  float beta;            /* default 0.5; 0 ... 100 */
  uint32_t reserved;
} sotto_guide_params;

SOTTO_API void sotto_guide_params_init(sotto_guide_params* params, size_t params_size);

/* Each token that this session generates or takes back from here on, the guide does too. The
 * guide must outlive its use, belongs to the same thread, and is not used on its own
 * meanwhile. `guide` NULL ends it. Needs SOTTO_FEATURE_GUIDE. Searches refuse it.
 * Errors: INVALID_ARGUMENT naming the parameter or the vocabularies, INVALID_STATE. */
SOTTO_API sotto_status sotto_session_set_guide(sotto_session* session, sotto_session* guide,
                                               const sotto_guide_params* params, sotto_error* error);

/* ---- States ------------------------------------------------------------------ */

/* Bytes sotto_session_save writes now. */
SOTTO_API sotto_status sotto_session_saved_size(const sotto_session* session, size_t* size);

/* Writes the stream: tokens, keys and values, what the sampler has learned, text held back;
 * its random numbers follow from its seed and the tokens' places. The same bytes on every
 * platform. Parameters are not part of it: set sampler and stops as they were.
 * `*size` is set to the bytes written. Errors: BUFFER_TOO_SMALL. */
SOTTO_API sotto_status sotto_session_save(const sotto_session* session, void* bytes, size_t capacity, size_t* size);

/* Goes on where a state was saved, in a session of the same model, context_tokens,
 * sink_tokens, overflow and features: with the same sampler and stops the same tokens come as
 * would have there. `bytes` may come from anyone. Errors: STATE_CORRUPT, INVALID_ARGUMENT (of another shape); nothing
 * has changed. */
SOTTO_API sotto_status sotto_session_restore(sotto_session* session, const void* bytes, size_t size,
                                             sotto_error* error);

/* Makes `to` a copy of `from`: as save and restore, without the bytes between. */
SOTTO_API sotto_status sotto_session_fork(const sotto_session* from, sotto_session* to, sotto_error* error);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_SESSION_H */
