/* sotto_search.h - several continuations of one prompt at once: beam search and its variants,
 * parallel sampling, reranking, contrastive search.
 *
 * All sequences share the keys and values of the prompt; each adds at most sequence_tokens of its
 * own. A session for b sequences of n tokens needs additionally about b n / context_tokens times
 * its kv_bytes, and b vocabulary_size floats. All sequences are evaluated in one batch per step. A
 * search leaves the session's stream as it was; to continue with a sequence, prefill its tokens.
 */
#ifndef SOTTO_SEARCH_H
#define SOTTO_SEARCH_H

#include "sotto_session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kind of search. */
typedef int32_t sotto_search_mode;
enum {
  /* Beam search, which continues the sequence_count best prefixes. With group_count above 1 it is
   * diverse beam search (Vijayakumar et al. 2018): groups choose one after the other, and a token
   * that earlier groups chose c times in this step loses diversity_penalty * c. With phrases it is
   * constrained beam search (Post and Vilar 2018). The sampler's bans, biases and penalties apply;
   * its temperature, truncations and selection do not. */
  SOTTO_SEARCH_BEAM = 0,
  /* Beams are drawn without replacement from the sampler's whole chain. */
  SOTTO_SEARCH_BEAM_SAMPLE = 1,
  /* Independent continuations, each drawn by the sampler with random numbers of its own, in the
   * order that `rerank` selects. */
  SOTTO_SEARCH_SAMPLE = 2,
  /* Contrastive search of one sequence. Of the contrastive_k most likely tokens it takes the one
   * with the largest (1-alpha) p - alpha max cos(h, h_j) over all earlier hidden states h_j (Su et
   * al. 2022). Needs SOTTO_FEATURE_HIDDEN_HISTORY and contrastive_k <= the session's
   * sequence_count. */
  SOTTO_SEARCH_CONTRASTIVE = 3
};

/* When a beam search ends after sequence_count sequences are finished (early_stopping of
 * transformers). */
typedef int32_t sotto_early_stopping;
enum {
  /* When the best running sequence, at its present length, is no better than the worst finished
   * one. */
  SOTTO_EARLY_STOPPING_HEURISTIC = 0,
  /* Immediately. */
  SOTTO_EARLY_STOPPING_AT_ONCE = 1,
  /* Only when no better sequence is possible. */
  SOTTO_EARLY_STOPPING_NEVER = 2
};

/* Divisor of the sum of ln p, which makes scores of different lengths comparable. */
typedef int32_t sotto_length_norm;
enum {
  /* length^alpha. */
  SOTTO_LENGTH_POWER = 0,
  /* ((5 + length) / 6)^alpha (Wu et al. 2016). */
  SOTTO_LENGTH_GNMT = 1
};

/* How SOTTO_SEARCH_SAMPLE orders its sequences. EXACT, NGRAM and CALLBACK are minimum Bayes risk
 * (Kumar and Byrne 2004): the sequence with the largest mean similarity to all sequences, itself
 * included, comes first. */
typedef int32_t sotto_rerank;
enum {
  /* The order in which they were drawn. The score is the sum of ln p. */
  SOTTO_RERANK_ORDER = 0,
  /* Best of n, by the largest length-normalised ln p under the model. */
  SOTTO_RERANK_BEST = 1,
  /* Similarity is 1 for equal tokens and 0 otherwise, which is a majority vote (self-consistency,
   * Wang et al. 2023). */
  SOTTO_RERANK_EXACT = 2,
  /* Similarity is the mean F1 score of token n-grams of order 1 to 4. */
  SOTTO_RERANK_NGRAM = 3,
  /* Similarity is the result of `similarity`. */
  SOTTO_RERANK_CALLBACK = 4
};

/* One continuation. It is owned by the session and valid until the session's next call. */
typedef struct sotto_sequence {
  /* The new tokens, without the end-of-text token or stop token. At SOTTO_STOP_STRING the last
   * token completes the string. */
  const sotto_token* tokens;
  size_t token_count;
  /* The number by which the search ranks sequences. */
  double score;
  /* Sum of ln p under the distribution that was searched, with the end-of-text token. */
  double log_probability;
  /* Reason why it ended, a SOTTO_STOP_ value. */
  sotto_status stop;
  /* Number of the stream of random numbers with which it was drawn. */
  uint32_t index;
} sotto_sequence;

/* Returns the similarity of the tokens of two continuations, which may be any finite number. */
typedef double (*sotto_similarity_fn)(void* user_data, const sotto_token* a, size_t a_count, const sotto_token* b,
                                      size_t b_count);

/* Called once per step and live sequence with its newest token. In beam searches tokens are those
 * of the surviving beams, which may be abandoned later. Returns 0 to continue, anything else to
 * stop the search with SOTTO_STOP_CALLBACK. */
typedef int32_t (*sotto_step_fn)(void* user_data, uint32_t sequence, sotto_token token);

/* Parameters of a search. */
typedef struct sotto_search_params {
  uint32_t struct_size;
  /* Kind of search. Default BEAM. */
  sotto_search_mode mode;
  /* Number of beams or continuations. Default 0: the session's; from 1 to the session's
   * sequence_count. */
  uint32_t sequence_count;
  /* Number of the best sequences that are returned. Default 0: all; from 1 to sequence_count. */
  uint32_t return_count;
  /* Maximal number of new tokens per sequence. Default 0: the session's; from 1 to the session's
   * sequence_tokens. */
  uint32_t max_tokens;
  /* Exponent alpha of the length normalisation. Default 1; from -10 to 10. */
  float length_penalty;
  /* Length normalisation of scores. Default POWER. */
  sotto_length_norm length_norm;
  /* When a beam search ends. Default HEURISTIC. */
  sotto_early_stopping early_stopping;
  /* Number of groups of a diverse beam search. Must divide sequence_count. Default 1 (off); from 1
   * to 64. */
  uint32_t group_count;
  /* Penalty per choice of the same token by an earlier group. Default 0 (off); from 0 to 100. */
  float diversity_penalty;
  /* Order of the sequences of SOTTO_SEARCH_SAMPLE. Default ORDER. */
  sotto_rerank rerank;
  /* Number of tokens that CONTRASTIVE compares per step. Default 4; from 2 to 64. */
  uint32_t contrastive_k;
  /* Weight alpha of the similarity in CONTRASTIVE. Default 0.6; from 0 to 1. */
  float contrastive_alpha;
  uint32_t reserved;
  /* Token sequences that must appear in the results of BEAM. At most 32. */
  const sotto_token_list* phrases;
  /* One number per phrase. Phrases with the same number are alternatives, of which one must appear.
   * With NULL every phrase must appear. */
  const uint32_t* phrase_groups;
  size_t phrase_count;
  /* Similarity function of SOTTO_RERANK_CALLBACK. */
  sotto_similarity_fn similarity;
  void* similarity_user_data;
  /* Called per step and live sequence. May be NULL. */
  sotto_step_fn on_step;
  void* step_user_data;
} sotto_search_params;

SOTTO_API void sotto_search_params_init(sotto_search_params* params, size_t params_size);

/* Searches for continuations of the session's stream, with the session's sampler, grammar,
 * end-of-text token and stops. The stops apply to each sequence by itself, max_time_ns counts from
 * this call, and include_stop_text has no effect. `*sequences` receives the `*count` sequences
 * found, best first. Returns SOTTO_OK, or SOTTO_STOP_CANCELLED or SOTTO_STOP_CALLBACK with the
 * sequences so far, or SOTTO_STOP_CONTEXT_FULL with no sequence if the stream's newest token cannot
 * be evaluated. Errors: INVALID_STATE (no tokens, a session without sequences, a guide, a prompt
 * whose token healing is pending), INVALID_ARGUMENT naming the parameter (also the sampler's dola,
 * a watermark that replaces the selection in another mode than SOTTO_SEARCH_SAMPLE, and
 * banned_strings), before anything is evaluated. */
SOTTO_API sotto_status sotto_session_search(sotto_session* session, const sotto_search_params* params,
                                            const sotto_sequence** sequences, size_t* count, sotto_error* error);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_SEARCH_H */
