/* sotto_search.h - searches, which generate several continuations of one prompt at once: beam
 * search and its variants, parallel samples with reranking, contrastive search.
 *
 * Each step evaluates all sequences in one batch, and they share the keys and values of the prompt.
 * Their own tokens need additional memory. b sequences of n tokens take about b n / context_tokens
 * times the session's kv_bytes, and b vocabulary_size floats. sequence_tokens therefore limits n.
 *
 * A search rolls back tokens that were drawn but not emitted yet. Otherwise it does not change the
 * session's stream. To continue with a sequence that it found, prefill its tokens.
 */
/* The enums and structs below are generated from capi/params/search.toml: edit that file. */
#ifndef SOTTO_SEARCH_H
#define SOTTO_SEARCH_H

#include "sotto_session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of searches. */
typedef int32_t sotto_search_mode;
enum {
  /* Beam search: in each step, the sequence_count best prefixes survive. If group_count is greater
   * than 1, it is diverse beam search (Vijayakumar et al. 2018): the groups choose one after the
   * other. If earlier groups have chosen a token c times in the same step, its score decreases by
   * diversity_penalty * c. With phrases, it is constrained beam search (Post and Vilar 2018). The
   * bans, biases and penalties of the sampler apply, but not its temperature, truncations and
   * selection. */
  SOTTO_SEARCH_BEAM = 0,
  /* Stochastic beam search: beams are drawn without replacement from the distribution after the
   * sampler's chain. */
  SOTTO_SEARCH_BEAM_SAMPLE = 1,
  /* Independent samples, each with its own stream of random numbers. `rerank` determines their
   * order. */
  SOTTO_SEARCH_SAMPLE = 2,
  /* Contrastive search of one sequence (Su et al. 2022): among the contrastive_k most likely
   * tokens, it selects the one with the largest (1-alpha) p - alpha max cos(h, h_j) over all
   * earlier hidden states h_j. This search needs SOTTO_FEATURE_HIDDEN_HISTORY, and contrastive_k
   * must not exceed the session's sequence_count. */
  SOTTO_SEARCH_CONTRASTIVE = 3
};

/* Condition under which a beam search ends after sequence_count sequences have finished
 * (early_stopping in transformers). */
typedef int32_t sotto_early_stopping;
enum {
  /* The search ends when the best running sequence, at its current length, is no better than the
   * worst finished one. */
  SOTTO_EARLY_STOPPING_HEURISTIC = 0,
  /* The search ends immediately. */
  SOTTO_EARLY_STOPPING_AT_ONCE = 1,
  /* The search ends only when no better sequence is possible. */
  SOTTO_EARLY_STOPPING_NEVER = 2
};

/* Divisor of a sequence's log probability. It makes scores of different lengths comparable. */
typedef int32_t sotto_length_norm;
enum {
  /* length^alpha. */
  SOTTO_LENGTH_POWER = 0,
  /* ((5 + length) / 6)^alpha (Wu et al. 2016). */
  SOTTO_LENGTH_GNMT = 1
};

/* Order of the sequences of SOTTO_SEARCH_SAMPLE. EXACT, NGRAM and CALLBACK use minimum Bayes risk
 * decoding (Kumar and Byrne 2004): the sequence with the largest mean similarity to all sequences,
 * including itself, comes first. */
typedef int32_t sotto_rerank;
enum {
  /* The order of drawing. The score is the log probability. */
  SOTTO_RERANK_ORDER = 0,
  /* Best of n: the sequence with the largest length-normalized log probability under the model
   * comes first. */
  SOTTO_RERANK_BEST = 1,
  /* The similarity is 1 for equal sequences and 0 otherwise, so that the majority wins
   * (self-consistency, Wang et al. 2023). */
  SOTTO_RERANK_EXACT = 2,
  /* The similarity is the mean F1 score of token n-grams of orders 1 to 4. */
  SOTTO_RERANK_NGRAM = 3,
  /* The function `similarity` computes the similarity. */
  SOTTO_RERANK_CALLBACK = 4
};

/* A continuation that a search found. The session owns it; it is valid until the next call with the
 * session. */
typedef struct sotto_sequence {
  /* The new tokens, without an end-of-text or stop token. After SOTTO_STOP_STRING, they are cut at
   * the stop string, like the stream of a session (see stop_strings in sotto_stop_params).
   * Sequences that differ only in the removed tokens are therefore equal. A token that contains the
   * cut stays if max_tokens leaves no space for the tokens that spell its part of the text. */
  const sotto_token* tokens;
  size_t token_count;
  /* The score that ranks the sequence in the search. */
  double score;
  /* Log probability of the sequence under the distribution that was searched. It includes the
   * end-of-text token and the tokens that a stop string removed. */
  double log_probability;
  /* Why the sequence ended: a SOTTO_STOP_ value. */
  sotto_status stop;
  /* Index of the random number stream that drew the sequence. */
  uint32_t index;
} sotto_sequence;

/* Returns the similarity of two sequences of tokens: any finite number. */
typedef double (*sotto_similarity_fn)(void* user_data, const sotto_token* a, size_t a_count, const sotto_token* b,
                                      size_t b_count);

/* Called in each step with the newest token of each live sequence. In a beam search, these are the
 * surviving beams; a later step may abandon them. step_parent in sotto_session_info is the beam of
 * the previous step that a beam continues. Returns 0 to continue, and any other value to stop the
 * search with SOTTO_STOP_CALLBACK. */
typedef int32_t (*sotto_step_fn)(void* user_data, uint32_t sequence, sotto_token token);

/* Parameters of a search. */
typedef struct sotto_search_params {
  uint32_t struct_size;
  /* Kind of search. Default: BEAM. */
  sotto_search_mode mode;
  /* Number of beams or samples. Default: 0 (the session's). Range: 1 to the
   * session's sequence_count. */
  uint32_t sequence_count;
  /* Number of sequences to return, the best ones first. Default: 0 (all). Range: 1
   * to sequence_count. */
  uint32_t return_count;
  /* Maximum number of new tokens per sequence. Default: 0 (the session's). Range: 1 to the
   * session's sequence_tokens. */
  uint32_t max_tokens;
  /* Exponent alpha of the length normalization. Default: 1. Range: -10 to 10. */
  float length_penalty;
  /* Formula of the length normalization. Default: POWER. */
  sotto_length_norm length_norm;
  /* Condition under which a beam search ends. Default: HEURISTIC. */
  sotto_early_stopping early_stopping;
  /* Number of groups in a diverse beam search. It must divide sequence_count. Default: 1 (off).
   * Range: 1 to 64. */
  uint32_t group_count;
  /* Penalty of a token for each earlier group that has chosen it in the same step. Default:
   * 0 (off). Range: 0 to 100. */
  float diversity_penalty;
  /* Order of the sequences of SOTTO_SEARCH_SAMPLE. Default: ORDER. */
  sotto_rerank rerank;
  /* Number of tokens that CONTRASTIVE considers in each step. Default: 4. Range: 2 to 64. */
  uint32_t contrastive_k;
  /* Weight alpha of the similarity term in CONTRASTIVE. Default: 0.6. Range: 0 to 1. */
  float contrastive_alpha;
  uint32_t reserved;
  /* Token sequences that the results of BEAM must contain. At most 32 elements. */
  const sotto_token_list* phrases;
  /* A number for each phrase. Phrases with the same number are alternatives: a result must contain
   * one of them. If NULL, a result must contain every phrase. */
  const uint32_t* phrase_groups;
  size_t phrase_count;
  /* Similarity function for SOTTO_RERANK_CALLBACK. */
  sotto_similarity_fn similarity;
  void* similarity_user_data;
  /* Called in each step for each live sequence. May be NULL. */
  sotto_step_fn on_step;
  void* step_user_data;
} sotto_search_params;

SOTTO_API void sotto_search_params_init(sotto_search_params* params, size_t params_size);

/* Searches for continuations of the session's stream, using the session's sampler, grammar,
 * end-of-text token and stops. The stops apply to each sequence separately, max_time_ns is counted
 * from this call, and include_stop_text has no effect. `*sequences` receives the `*count` sequences
 * found, best first. Returns SOTTO_OK; SOTTO_STOP_CANCELLED or SOTTO_STOP_CALLBACK with the
 * sequences found so far; or SOTTO_STOP_CONTEXT_FULL without sequences if the newest token of the
 * stream cannot be evaluated.
 *
 * Errors, before anything is evaluated: INVALID_STATE (the stream is empty, the session has no
 * sequences or has a guide, or token healing is pending), INVALID_ARGUMENT naming the parameter
 * (also for the sampler's dola, for banned_strings, and for a watermark that replaces the selection
 * in a mode other than SOTTO_SEARCH_SAMPLE). Errors during the search, after which there are no
 * sequences: INVALID_ARGUMENT (`similarity` returned a number that is not finite), GRAMMAR_DEAD_END,
 * GRAMMAR_TOO_LARGE. */
SOTTO_API sotto_status sotto_session_search(sotto_session* session, const sotto_search_params* params,
                                            const sotto_sequence** sequences, size_t* count, sotto_error* error);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_SEARCH_H */
