/* sotto_sampler.h - how a token is chosen: the chain of stages between a session's logits and its
 * token, watermarks and their detectors, and samplers for the logits of any runtime.
 */
#ifndef SOTTO_SAMPLER_H
#define SOTTO_SAMPLER_H

#include "sotto_session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The chain ------------------------------------------------------------- */

/* Stages of the chain. Notation: l logits, p = softmax(l) over the tokens that are left, H = -sum p
 * ln p, c(t) how often t occurs in the penalty window. Tokens that a grammar's mask excludes are
 * removed before the first stage and never return. A truncation keeps at least min_keep tokens;
 * ties go to the lowest token id; NaN counts as -infinity. A stage whose parameters are off does
 * nothing. */
typedef int32_t sotto_stage;
enum {
  /* Calls logits_callback. */
  SOTTO_STAGE_LOGITS_CALLBACK = 1,
  /* Adds logit_bias. */
  SOTTO_STAGE_BIAS = 2,
  /* Adds sequence_bias. */
  SOTTO_STAGE_SEQUENCE_BIAS = 3,
  /* Removes all tokens except allowed_tokens. */
  SOTTO_STAGE_ALLOWED = 4,
  /* Removes suppressed_tokens, begin_suppressed_tokens, and the end of text with ignore_end. */
  SOTTO_STAGE_SUPPRESS = 5,
  /* Removes tokens that would complete one of bad_words. */
  SOTTO_STAGE_BAD_WORDS = 6,
  /* Removes the end of text before min_new_tokens. */
  SOTTO_STAGE_MIN_TOKENS = 7,
  /* Forces forced_prefix and forced_last_token. */
  SOTTO_STAGE_FORCED = 8,
  /* Raises the end of text with the length. */
  SOTTO_STAGE_END_DECAY = 9,
  /* Applies repetition_penalty and the guard. */
  SOTTO_STAGE_REPETITION = 10,
  /* Applies frequency_penalty. */
  SOTTO_STAGE_FREQUENCY = 11,
  /* Applies presence_penalty. */
  SOTTO_STAGE_PRESENCE = 12,
  /* Removes tokens that would repeat an n-gram. */
  SOTTO_STAGE_NO_REPEAT_NGRAM = 13,
  /* Applies the DRY penalty. */
  SOTTO_STAGE_DRY = 14,
  /* Divides by the temperature. */
  SOTTO_STAGE_TEMPERATURE = 15,
  /* Applies quadratic smoothing. */
  SOTTO_STAGE_SMOOTHING = 16,
  /* Truncates by top_k. */
  SOTTO_STAGE_TOP_K = 17,
  /* Truncates by top_p. */
  SOTTO_STAGE_TOP_P = 18,
  /* Truncates by min_p. */
  SOTTO_STAGE_MIN_P = 19,
  /* Truncates by top_a. */
  SOTTO_STAGE_TOP_A = 20,
  /* Truncates by tail_free. */
  SOTTO_STAGE_TAIL_FREE = 21,
  /* Truncates by typical_p. */
  SOTTO_STAGE_TYPICAL = 22,
  /* Truncates by epsilon. */
  SOTTO_STAGE_EPSILON = 23,
  /* Truncates by eta. */
  SOTTO_STAGE_ETA = 24,
  /* Truncates by top_n_sigma. */
  SOTTO_STAGE_TOP_N_SIGMA = 25,
  /* Truncates by top_h. */
  SOTTO_STAGE_TOP_H = 26,
  /* Removes the most likely tokens at random. */
  SOTTO_STAGE_XTC = 27,
  /* Adds the bias of a green list. */
  SOTTO_STAGE_WATERMARK = 28
};

/* Predefined orders of the stages. Selection comes last in each. */
typedef int32_t sotto_order;
enum {
  /* The order of llama.cpp. LOGITS_CALLBACK, ALLOWED, SUPPRESS, BAD_WORDS, MIN_TOKENS, FORCED,
   * BIAS, SEQUENCE_BIAS, REPETITION, FREQUENCY, PRESENCE, NO_REPEAT_NGRAM, DRY, END_DECAY,
   * TOP_N_SIGMA, TOP_K, TYPICAL, TOP_P, MIN_P, TOP_A, TAIL_FREE, EPSILON, ETA, TOP_H, XTC,
   * TEMPERATURE, SMOOTHING, WATERMARK. */
  SOTTO_ORDER_DEFAULT = 0,
  /* The order of transformers. LOGITS_CALLBACK, BIAS, SEQUENCE_BIAS, REPETITION, FREQUENCY,
   * PRESENCE, NO_REPEAT_NGRAM, DRY, BAD_WORDS, MIN_TOKENS, FORCED, END_DECAY, ALLOWED, SUPPRESS,
   * TEMPERATURE, SMOOTHING, TOP_H, TOP_N_SIGMA, TOP_K, TOP_P, MIN_P, TOP_A, TAIL_FREE, TYPICAL,
   * EPSILON, ETA, XTC, WATERMARK. */
  SOTTO_ORDER_HF = 1,
  /* The order of vLLM. LOGITS_CALLBACK, ALLOWED, SUPPRESS, BAD_WORDS, MIN_TOKENS, FORCED, BIAS,
   * SEQUENCE_BIAS, REPETITION, FREQUENCY, PRESENCE, NO_REPEAT_NGRAM, DRY, END_DECAY, TEMPERATURE,
   * SMOOTHING, MIN_P, TOP_K, TOP_P, TOP_A, TAIL_FREE, TYPICAL, EPSILON, ETA, TOP_N_SIGMA, TOP_H,
   * XTC, WATERMARK. */
  SOTTO_ORDER_OPENAI = 2
};

/* How one of the remaining tokens is selected. */
typedef int32_t sotto_selection;
enum {
  /* In proportion to p, by inversion in the order of token ids. */
  SOTTO_SELECT_MULTINOMIAL = 0,
  /* The most likely token. Temperature 0 also selects it. */
  SOTTO_SELECT_GREEDY = 1,
  /* The largest l plus Gumbel noise of the token (Gumbel 1954): the same distribution as
   * MULTINOMIAL. */
  SOTTO_SELECT_GUMBEL = 2,
  /* Keeps the surprise near mirostat_tau bits (Basu et al. 2021): estimates the Zipf exponent from
   * the mirostat_m most likely tokens and keeps the k that follow from it. */
  SOTTO_SELECT_MIROSTAT = 3,
  /* Does the same by removing tokens of more surprise than mu. In both, mu begins at 2 tau and
   * falls by eta (surprise - tau) per token. */
  SOTTO_SELECT_MIROSTAT_V2 = 4,
  /* Favours tokens whose p is near adaptive_target. The decayed mean of the selected p corrects the
   * target, so that the mean stays there. */
  SOTTO_SELECT_ADAPTIVE_P = 5
};

/* Bias of a token. */
typedef struct sotto_token_bias {
  /* The token. */
  sotto_token token;
  /* Number added to its logit. -infinity bans the token. */
  float bias;
} sotto_token_bias;

/* Bias of the last token of a sequence. It applies when the newest tokens are those before it. */
typedef struct sotto_sequence_bias {
  /* The sequence of at least one token. */
  const sotto_token* tokens;
  size_t count;
  /* Number added to the logit. -infinity bans the token. */
  float bias;
  uint32_t reserved;
} sotto_sequence_bias;

/* May change the `count` (vocabulary_size) logits in any way. NaN becomes -infinity. It is called
 * on the session's thread, once per token and sequence. */
typedef void (*sotto_logits_fn)(void* user_data, float* logits, size_t count);

/* ---- Watermarks ------------------------------------------------------------ */

/* Kinds of watermarks, which are statistical marks of generated text that sotto_watermark_detect
 * finds. TOURNAMENT and GUMBEL replace the selection, which must be MULTINOMIAL with a temperature
 * above 0; of the searches only SOTTO_SEARCH_SAMPLE supports them. Averaged over all keys, they
 * leave the distribution of a token unchanged. */
typedef int32_t sotto_watermark_scheme;
enum {
  /* No watermark. */
  SOTTO_WATERMARK_NONE = 0,
  /* Green list (Kirchenbauer et al. 2023): delta is added to the logits of the tokens that a hash
   * of key, context and token puts among the fraction gamma. The context is the context_width
   * tokens before. */
  SOTTO_WATERMARK_LEFT_HASH = 1,
  /* Green list in which the token is part of its own context, anchored at the smallest hash
   * (Kirchenbauer et al. 2024). */
  SOTTO_WATERMARK_SELF_HASH = 2,
  /* Tournament sampling of tournament_layers rounds (SynthID, Dathathri et al. 2024). */
  SOTTO_WATERMARK_TOURNAMENT = 3,
  /* Gumbel-max trick with noise from a hash of key, context and token (Aaronson 2022). */
  SOTTO_WATERMARK_GUMBEL = 4
};

/* Parameters of a watermark. Detection needs the same parameters as generation. */
typedef struct sotto_watermark_params {
  uint32_t struct_size;
  /* Kind of watermark. Default NONE. */
  sotto_watermark_scheme scheme;
  /* Number of tokens that are hashed. Default 0: 4 for SELF_HASH, TOURNAMENT and GUMBEL, 1 for
   * LEFT_HASH; from 0 to 16. */
  uint32_t context_width;
  /* Green fraction of the vocabulary. Default 0.25; greater than 0 and less than 1. */
  float gamma;
  /* Number added to the logits of green tokens. Default 2; from 0 to 100. */
  float delta;
  /* Number of rounds of the tournament. Default 30; from 1 to 64. */
  uint32_t tournament_layers;
  /* Secret key of the hashes. Default 15485863. */
  uint64_t key;
} sotto_watermark_params;

/* Result of sotto_watermark_detect. */
typedef struct sotto_watermark_result {
  uint32_t struct_size;
  /* Whether z is above 3. */
  uint32_t is_marked;
  /* Number of tokens scored. A context that occurs again with the same token counts once. */
  uint64_t token_count;
  /* Number of green tokens, mean g for TOURNAMENT, or mean -ln(1-r) for GUMBEL. */
  double score;
  /* Distance from unmarked text in standard deviations, (g - gamma T) / sqrt(T gamma (1-gamma)) for
   * green lists. */
  double z;
  /* Probability that unmarked text has such a z. */
  double p_value;
} sotto_watermark_result;

SOTTO_API void sotto_watermark_params_init(sotto_watermark_params* params, size_t params_size);

/* Detects a watermark. It needs neither model nor session. `vocabulary_size` is that of the model
 * that generated the tokens. In the worst case the time grows with the square of `count`. Errors:
 * INVALID_ARGUMENT naming the parameter, or a token outside the vocabulary. */
SOTTO_API sotto_status sotto_watermark_detect(const sotto_watermark_params* params, size_t vocabulary_size,
                                              const sotto_token* tokens, size_t count, sotto_watermark_result* result,
                                              sotto_error* error);

/* ---- Parameters ------------------------------------------------------------ */

/* Decoding by contrasting layers (DoLa, Chuang et al. 2023): ln p of the last layer minus ln p of
 * the earlier layer that differs most from it, chosen among the lower or the upper half. */
typedef int32_t sotto_dola;
enum {
  /* Off. */
  SOTTO_DOLA_OFF = 0,
  /* Contrasts with the lower layers. */
  SOTTO_DOLA_LOW = 1,
  /* Contrasts with the upper layers. */
  SOTTO_DOLA_HIGH = 2
};

/* Parameters of the sampler. Arrays are copied by sotto_session_set_sampler and may be NULL if
 * their count is 0. */
typedef struct sotto_sampler_params {
  uint32_t struct_size;
  /* Temperature T of l/T. 0 selects the most likely of the tokens that the other stages leave,
   * which then use T = 1. Default 0.8; from 0 to 100; 1: off. */
  float temperature;
  /* The k most likely tokens are kept. Default 40; 0: off. */
  uint32_t top_k;
  /* The smallest set of tokens whose probability reaches p is kept (nucleus sampling, Holtzman et
   * al. 2020). Default 0.95; greater than 0 and at most 1; 1: off. */
  float top_p;
  /* Tokens with p >= min_p max p are kept (Nguyen et al. 2024). Default 0.05; from 0 to 1; 0: off. */
  float min_p;
  /* Penalty r: l becomes l/r if l > 0, else l*r, for tokens in the window (Keskar et al. 2019).
   * Default 1 (off); greater than 0 and at most 100. */
  float repetition_penalty;
  /* Number of the newest tokens that repetition, frequency and presence penalties count. Default
   * 64; UINT32_MAX: all that the session holds, at most context_tokens; 0: off. */
  uint32_t repetition_window;
  /* Whether the log probabilities of sotto_piece are computed. Default 0. */
  uint32_t log_probabilities;
  /* Seed of the random numbers. Default 0. */
  uint64_t seed;

  /* ---- Chain ---- */

  /* Order of the stages. Default DEFAULT. */
  sotto_order order;
  /* Minimal number of tokens that a truncation keeps. Default 1; at least 1. */
  uint32_t min_keep;
  /* The stages to run instead of those of `order`, none twice. It is an error if a parameter is on
   * and its stage is missing. Without stages `order` applies. */
  const sotto_stage* stages;
  size_t stage_count;

  /* ---- Repetition ---- */

  /* Penalty f of l -= f c(t). Default 0 (off); from -100 to 100. */
  float frequency_penalty;
  /* Penalty v of l -= v for tokens with c(t) > 0. Default 0 (off); from -100 to 100. */
  float presence_penalty;
  /* Whether the windows of all penalties reach into the prompt. Otherwise they hold only generated
   * tokens. Default 1. */
  uint32_t penalize_prompt;
  /* Reduces the repetition, frequency and presence penalties of older tokens in the window. Default
   * 0 (off); from 0 to 10. */
  float penalty_slope;
  /* Length n such that no n consecutive tokens occur twice. Default 0 (off). */
  uint32_t no_repeat_ngram;
  /* Multiplier m of DRY (p-e-w 2024), which is l -= m b^(n-a) for a token that would extend a
   * repetition of n >= a tokens. Default 0 (off); from 0 to 100. */
  float dry_multiplier;
  /* Base b of DRY. Default 1.75; from 1 to 10. */
  float dry_base;
  /* Allowed length a of DRY. Shorter repetitions are not penalised. Default 2. */
  uint32_t dry_allowed_length;
  /* Number of the newest tokens that DRY searches. Default UINT32_MAX: all. */
  uint32_t dry_window;
  /* Number of the newest tokens whose repetitiveness (0 to 1) raises the penalty from
   * repetition_penalty towards guard_penalty. Default 0 (off); from 0 to 256. */
  uint32_t guard_window;
  /* Repetition penalty for a text that only repeats itself. Default 1.5; from 1 to 100. */
  float guard_penalty;
  uint32_t reserved0;
  /* DRY's repetitions end at tokens that contain one of these strings. Default "\n" ":" "\"" "*". */
  const sotto_text* dry_breakers;
  size_t dry_breaker_count;
  /* DRY's repetitions also end at these tokens. */
  const sotto_token* dry_breaker_tokens;
  size_t dry_breaker_token_count;

  /* ---- Temperature ---- */

  /* Range r of the dynamic temperature max(0, T-r) + (T+r - max(0, T-r)) (H / ln N)^e. It also
   * applies if T is 0. Default 0 (off); from 0 to 100. */
  float temperature_range;
  /* Exponent e of the dynamic temperature. Default 1; from 0 to 10. */
  float temperature_exponent;
  /* Factor f of quadratic smoothing, which is l = max - k f d^2 + s f d^3 with d = l - max, k =
   * (3-c)/2, s = (c-1)/2. Default 0 (off); from 0 to 100. */
  float smoothing_factor;
  /* Curve c of quadratic smoothing. 1 is a parabola. Default 1; from 1 to 10. */
  float smoothing_curve;

  /* ---- Truncation ---- */

  /* Decay of top_p, which is max(top_p_min, top_p decay^t) after t generated tokens. Default 1
   * (off); greater than 0 and at most 1. */
  float top_p_decay;
  /* Lower limit of the decayed top_p. Default 0; from 0 to top_p. */
  float top_p_min;
  /* Token after which t starts again. Default -1: none. */
  sotto_token top_p_reset_token;
  /* Tokens with p >= a (max p)^2 are kept. Default 0 (off); from 0 to 1. */
  float top_a;
  /* The sorted prefix whose normalised |second differences| of p sum up to z is kept (tail-free
   * sampling, Phan 2019). Default 1 (off); greater than 0 and at most 1. */
  float tail_free;
  /* The tokens with the smallest |-ln p - H| whose probability reaches P are kept (Meister et al.
   * 2023). Default 1 (off); greater than 0 and at most 1. */
  float typical_p;
  /* Tokens with p >= epsilon are kept (Hewitt et al. 2022). Default 0 (off); at least 0 and less
   * than 1. */
  float epsilon;
  /* Tokens with p >= min(eta, sqrt(eta) e^-H) are kept (Hewitt et al. 2022). Default 0 (off); at
   * least 0 and less than 1. */
  float eta;
  /* Tokens with l >= max - n sigma are kept, with sigma of the finite logits (Tang et al. 2024).
   * Default 0 (off); from 0 to 100. */
  float top_n_sigma;
  /* The sorted prefix whose entropy stays within h H is kept (Potraghloo et al. 2025). Default 1
   * (off); greater than 0 and at most 1. */
  float top_h;
  /* With this probability all tokens with p >= xtc_threshold except the least likely of them are
   * removed (XTC, p-e-w 2024). Default 0 (off); from 0 to 1. */
  float xtc_probability;
  /* Threshold of XTC; above 0.5 it has no effect. Default 0.1; from 0 to 1. */
  float xtc_threshold;

  /* ---- Selection ---- */

  /* How one of the remaining tokens is selected. Default MULTINOMIAL. */
  sotto_selection selection;
  /* Target surprise of Mirostat in bits. Default 5; greater than 0 and at most 20. */
  float mirostat_tau;
  /* Learning rate of Mirostat. Default 0.1; greater than 0 and at most 1. */
  float mirostat_eta;
  /* Number of tokens from which MIROSTAT estimates the Zipf exponent. Default 100; at least 2. */
  uint32_t mirostat_m;
  /* Target probability of ADAPTIVE_P. Default -1: not set, which ADAPTIVE_P rejects; from 0 to 1. */
  float adaptive_target;
  /* Decay of the mean of ADAPTIVE_P. Default 0.9; from 0 to 0.99. */
  float adaptive_decay;

  /* ---- Bans, bias, forcing. Positions count the tokens generated since the last prefill ---- */

  /* Number of tokens before which the end-of-text token is not generated. Default 0 (off). */
  uint32_t min_new_tokens;
  /* Whether the end-of-text token is never generated. Default 0 (off). */
  uint32_t ignore_end;
  /* Start s of l_end += |l_end| (f^(t-s) - 1), which applies to the end-of-text token after t > s
   * generated tokens. Default 0. */
  uint32_t end_decay_start;
  /* Factor f of the same formula. Default 1 (off); from 0 to 10. */
  float end_decay_factor;
  /* Token that is generated at the limit of max_tokens. Default -1: none. */
  sotto_token forced_last_token;
  uint32_t reserved1;
  /* Biases of tokens. */
  const sotto_token_bias* logit_bias;
  size_t logit_bias_count;
  /* Biases of sequences. */
  const sotto_sequence_bias* sequence_bias;
  size_t sequence_bias_count;
  /* Token sequences that are never completed. */
  const sotto_token_list* bad_words;
  size_t bad_word_count;
  /* The only tokens that may be generated. Without any, all tokens may be. */
  const sotto_token* allowed_tokens;
  size_t allowed_token_count;
  /* Tokens that are never generated. */
  const sotto_token* suppressed_tokens;
  size_t suppressed_token_count;
  /* Tokens that are not generated first. */
  const sotto_token* begin_suppressed_tokens;
  size_t begin_suppressed_token_count;
  /* The first generated tokens. */
  const sotto_token* forced_prefix;
  size_t forced_prefix_count;
  /* Changes the logits before all other stages. May be NULL. */
  sotto_logits_fn logits_callback;
  void* logits_user_data;

  /* ---- Watermark ---- */

  /* Watermark of the text, which is copied, or NULL. */
  const sotto_watermark_params* watermark;

  /* ---- Layers (before the chain, with SOTTO_FEATURE_DOLA) ---- */

  /* Layers that the last one is contrasted with. Default OFF. */
  sotto_dola dola;
  /* Tokens whose p under the last layer is below this fraction of max p are removed. Default 0.1;
   * from 0 to 1. */
  float dola_relative_top;

  /* ---- Reports ---- */

  /* Number of the most likely tokens that each sotto_piece reports. Default 0; from 0 to 64. */
  uint32_t alternative_count;
  uint32_t reserved2;
} sotto_sampler_params;

SOTTO_API void sotto_sampler_params_init(sotto_sampler_params* params, size_t params_size);

/* Sets the sampler's parameters and restarts its random numbers from the seed. Without a call the
 * defaults apply. Errors: INVALID_ARGUMENT naming the parameter (the lists together may take
 * list_bytes of sotto_session_params). On failure the old parameters stay. */
SOTTO_API sotto_status sotto_session_set_sampler(sotto_session* session, const sotto_sampler_params* params,
                                                 sotto_error* error);

/* ---- A sampler of its own ---------------------------------------------------- */

/* A sampler without a session, for the logits of any runtime and for experiments with parameters. */
typedef struct sotto_sampler sotto_sampler;

/* Input for one token. */
typedef struct sotto_sampler_input {
  uint32_t struct_size;
  /* Number of the stream of random numbers. */
  uint32_t sequence;
  /* Logits of all tokens, which are not changed. */
  const float* logits;
  /* Mask of the allowed tokens, of which there is at least one: bit i % 64 of word i / 64 is token
   * i. NULL allows all. */
  const uint64_t* allowed;
  /* The previous tokens, newest last. May be NULL if there are none. Stages consider the newest
   * 2048. */
  const sotto_token* history;
  size_t history_count;
  /* Number of tokens at the end of the history that were generated. */
  uint64_t generated_count;
  /* Number of generated tokens at which the text ends, or 0 if it is not known. */
  uint64_t token_limit;
} sotto_sampler_input;

/* Returns the number of bytes that sotto_sampler_init needs. `list_bytes` has the meaning of the
 * field of sotto_session_params. Errors: INVALID_ARGUMENT (vocabulary_size must be from 1 to 2^22,
 * and list_bytes at most 2^24). */
SOTTO_API sotto_status sotto_sampler_memory_size(size_t vocabulary_size, uint32_t list_bytes, size_t* memory_size,
                                                 sotto_error* error);

/* Builds a sampler with the defaults in `memory`, which must outlive it. It needs no _deinit.
 * `model` defines the bytes of tokens (for dry_breakers) and the end-of-text token, and must have
 * the given vocabulary_size. If it is NULL, no token has text, and there is no end-of-text token.
 * Errors: as above, MEMORY_TOO_SMALL, MEMORY_MISALIGNED. */
SOTTO_API sotto_status sotto_sampler_init(const sotto_model* model, size_t vocabulary_size, uint32_t list_bytes,
                                          void* memory, size_t memory_size, sotto_sampler** sampler,
                                          sotto_error* error);

/* Sets the sampler's parameters as sotto_session_set_sampler does. dola must be off. */
SOTTO_API sotto_status sotto_sampler_set(sotto_sampler* sampler, const sotto_sampler_params* params,
                                         sotto_error* error);

/* Selects a token. The random numbers are those of place history_count of the seed's stream. The
 * state of Mirostat and adaptive-p persists from call to call, until sotto_sampler_set. Errors:
 * INVALID_ARGUMENT naming the field. */
SOTTO_API sotto_status sotto_sampler_pick(sotto_sampler* sampler, const sotto_sampler_input* input, sotto_token* token,
                                          sotto_error* error);

/* Computes the distribution after the chain: the remaining tokens in the order of their ids, and
 * their probabilities. With temperature 0 or SOTTO_SELECT_GREEDY only the most likely token
 * remains. `*count` receives their number, even with BUFFER_TOO_SMALL. The arrays may be NULL when
 * `capacity` is 0. */
SOTTO_API sotto_status sotto_sampler_apply(sotto_sampler* sampler, const sotto_sampler_input* input,
                                           sotto_token* tokens, float* probabilities, size_t capacity, size_t* count,
                                           sotto_error* error);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_SAMPLER_H */
