/* sotto_search.h - several continuations of one prompt at once: beam search and its kin,
 * parallel sampling, votes, contrastive search. Part of sotto.h, which includes it.
 *
 * All sequences share the prompt's keys and values; each adds at most sequence_tokens of its
 * own. A session for b sequences of n tokens needs, beside what it needs without them,
 *   about b n / context_tokens times its kv_bytes, and b vocabulary_size floats.
 * All sequences are evaluated in one batch a step. A search leaves the session's stream as it
 * was; to go on with a sequence, prefill its tokens.
 */
#ifndef SOTTO_SEARCH_H
#define SOTTO_SEARCH_H

#include "sotto.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t sotto_search_mode;
enum {
  /* The sequence_count best prefixes go on. With group_count above 1: diverse beam search
   * (Vijayakumar et al. 2018): groups choose one after the other, and a token that earlier
   * groups chose c times at this step loses diversity_penalty * c. With phrases: constrained
   * beam search (Post and Vilar 2018). The sampler's bans, biases and penalties hold; its
   * temperature, truncations and selection do not. */
  SOTTO_SEARCH_BEAM = 0,
  /* Beams drawn without replacement from the sampler's whole chain. */
  SOTTO_SEARCH_BEAM_SAMPLE = 1,
  /* Independent continuations, each drawn by the sampler with random numbers of its own, in
   * order of `rerank`. */
  SOTTO_SEARCH_SAMPLE = 2,
  /* One sequence: of the contrastive_k likeliest the token with the largest
   * (1-alpha) p - alpha max cos(h, h_j) over all earlier hidden states h_j (Su et al. 2022).
   * Needs SOTTO_FEATURE_HIDDEN_HISTORY and contrastive_k <= the session's sequence_count. */
  SOTTO_SEARCH_CONTRASTIVE = 3
};

/* When beam search ends, once sequence_count sequences are finished (transformers'
 * early_stopping). */
typedef int32_t sotto_early_stopping;
enum {
  SOTTO_EARLY_STOPPING_HEURISTIC = 0, /* when the best running one, at its present length, is no better
                               than the worst finished one */
  SOTTO_EARLY_STOPPING_AT_ONCE = 1,
  SOTTO_EARLY_STOPPING_NEVER = 2 /* only when no better one is possible */
};

/* How scores of unlike lengths compare: sum of ln p, divided by ... */
typedef int32_t sotto_length_norm;
enum {
  SOTTO_LENGTH_POWER = 0, /* length^alpha */
  SOTTO_LENGTH_GNMT = 1   /* ((5 + length) / 6)^alpha (Wu et al. 2016) */
};

/* What SOTTO_SEARCH_SAMPLE puts first. */
typedef int32_t sotto_rerank;
enum {
  SOTTO_RERANK_ORDER = 0, /* as drawn: score is the sum of ln p */
  SOTTO_RERANK_BEST = 1,  /* best of n: the largest length-normalised ln p under the model */
  /* Minimum Bayes risk (Kumar and Byrne 2004): the largest mean similarity to all of
   * them, itself among them. */
  SOTTO_RERANK_EXACT = 2,   /* similarity 1 for equal tokens, 0 otherwise: a vote
                               (self-consistency, Wang et al. 2023) */
  SOTTO_RERANK_NGRAM = 3,   /* F1 of the token n-grams of order 1 to 4, averaged */
  SOTTO_RERANK_CALLBACK = 4 /* `similarity` */
};

/* One continuation. Owned by the session, valid until its next call. */
typedef struct sotto_sequence {
  const sotto_token* tokens; /* new ones, without the end of text or stop token; at
                                SOTTO_STOP_STRING the last one completes the string */
  size_t token_count;
  double score;           /* what the search ranks by */
  double log_probability; /* sum of ln p under the distribution searched, end of text included */
  sotto_status stop;      /* why it ended: SOTTO_STOP_ value */
  uint32_t index;         /* of the random numbers it was drawn with */
} sotto_sequence;

/* Similarity of two continuations' tokens; any finite number. */
typedef double (*sotto_similarity_fn)(void* user_data, const sotto_token* a, size_t a_count, const sotto_token* b,
                                      size_t b_count);

/* Called once a step and live sequence with its newest token. In beam searches tokens are
 * those of the beams that go on, and may be given up later. Return 0 to go on, anything else
 * to stop the search with SOTTO_STOP_CALLBACK. */
typedef int32_t (*sotto_step_fn)(void* user_data, uint32_t sequence, sotto_token token);

typedef struct sotto_search_params {
  uint32_t struct_size;
  sotto_search_mode mode;              /* default BEAM */
  uint32_t sequence_count;             /* beams or continuations; default 0: the session's */
  uint32_t return_count;               /* best sequences returned; default 0: all */
  uint32_t max_tokens;                 /* new tokens; default 0: the session's sequence_tokens */
  float length_penalty;                /* alpha; default 1; -10 ... 10 */
  sotto_length_norm length_norm;       /* default POWER */
  sotto_early_stopping early_stopping; /* default HEURISTIC */
  uint32_t group_count;                /* default 1; divides sequence_count */
  float diversity_penalty;             /* default 0; above 0 with more than one group; at most 100 */
  sotto_rerank rerank;                 /* default ORDER */
  uint32_t contrastive_k;              /* default 4; 2 ... 64 */
  float contrastive_alpha;             /* default 0.6; 0 ... 1 */
  uint32_t reserved;
  /* BEAM: token sequences that must appear. Phrases with the same number in `phrase_groups`
   * are alternatives: one of them must. At most 32. */
  const sotto_token_list* phrases;
  const uint32_t* phrase_groups; /* NULL: each stands for itself */
  size_t phrase_count;
  sotto_similarity_fn similarity;
  void* similarity_user_data;
  sotto_step_fn on_step; /* may be NULL */
  void* step_user_data;
} sotto_search_params;

SOTTO_API void sotto_search_params_init(sotto_search_params* params, size_t params_size);

/* Continues the session's stream. Uses its sampler, grammar, end of text and stops: each
 * sequence ends at its own, max_time_ns counts from this call, include_stop_text means nothing.
 * `*sequences` are the `*count` found, best first. Returns SOTTO_OK; or
 * SOTTO_STOP_CANCELLED or SOTTO_STOP_CALLBACK with the sequences as far as they came; or
 * SOTTO_STOP_CONTEXT_FULL with none, where the stream's newest token cannot be evaluated.
 * Errors: INVALID_STATE (no tokens, a session without sequences, a guide, a word that is still
 * to be healed), INVALID_ARGUMENT naming the parameter (also the sampler's dola, a watermark
 * that replaces the selection in another mode than SOTTO_SEARCH_SAMPLE, and banned_strings),
 * before anything is evaluated. */
SOTTO_API sotto_status sotto_session_search(sotto_session* session, const sotto_search_params* params,
                                            const sotto_sequence** sequences, size_t* count, sotto_error* error);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_SEARCH_H */
