/* sotto_sampler.h - sampling: the chain of stages that turns logits into a token.
 *
 * Each stage changes logits or removes tokens. After the last stage, the selection draws one of the
 * remaining tokens. With the defaults, repetition is not penalized; the 40 most likely tokens stay
 * (top_k), of these the fewest with 95% of the probability (top_p), and of these the tokens with at
 * least 5% of the largest probability (min_p). Then temperature 0.8 makes likely tokens likelier,
 * and a random number decides. It depends only on the seed, the token's place in the stream, and
 * the number of tokens that banned strings have rejected there.
 *
 * This header also has watermarks and their detection, and samplers for the logits of other
 * runtimes.
 */
/* The enums and structs below are generated from capi/params/sampler.toml: edit that file. */
#ifndef SOTTO_SAMPLER_H
#define SOTTO_SAMPLER_H

#include "sotto_session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The chain ------------------------------------------------------------- */

/* Stages of the chain. In the formulas, l are the logits, p = softmax(l) the probabilities of the
 * remaining tokens, H = -sum p ln p their entropy, and c(t) the number of occurrences of token t in
 * the penalty window. Tokens that a grammar does not allow are removed before the first stage. So
 * are those that ALLOWED, SUPPRESS and BAD_WORDS remove: these three have no place in an order, and
 * a list of stages need not name them. If the stages remove every token, those that ban tokens are
 * skipped. A truncation keeps at least min_keep tokens. Ties are resolved in favour of the lowest
 * token id, and NaN counts as -infinity. A stage whose parameters are off does nothing. */
typedef int32_t sotto_stage;
enum {
  /* Calls logits_callback and logits_processor. */
  SOTTO_STAGE_LOGITS_CALLBACK = 1,
  /* Adds logit_bias. */
  SOTTO_STAGE_BIAS = 2,
  /* Adds sequence_bias. */
  SOTTO_STAGE_SEQUENCE_BIAS = 3,
  /* Removes all tokens except allowed_tokens. */
  SOTTO_STAGE_ALLOWED = 4,
  /* Removes suppressed_tokens and begin_suppressed_tokens, and with ignore_end the end-of-text
   * token. */
  SOTTO_STAGE_SUPPRESS = 5,
  /* Removes tokens that would complete one of bad_words. */
  SOTTO_STAGE_BAD_WORDS = 6,
  /* Removes the end-of-text token until min_new_tokens tokens have been generated. */
  SOTTO_STAGE_MIN_TOKENS = 7,
  /* Forces forced_prefix and forced_last_token. */
  SOTTO_STAGE_FORCED = 8,
  /* Raises the logit of the end-of-text token as the text grows. */
  SOTTO_STAGE_END_DECAY = 9,
  /* Applies repetition_penalty and the repetition guard. */
  SOTTO_STAGE_REPETITION = 10,
  /* Applies frequency_penalty. */
  SOTTO_STAGE_FREQUENCY = 11,
  /* Applies presence_penalty. */
  SOTTO_STAGE_PRESENCE = 12,
  /* Removes tokens that would repeat an n-gram of the text. */
  SOTTO_STAGE_NO_REPEAT_NGRAM = 13,
  /* Applies the DRY penalty. */
  SOTTO_STAGE_DRY = 14,
  /* Divides the logits by the temperature. */
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
  /* At random steps, removes the most likely tokens. */
  SOTTO_STAGE_XTC = 27,
  /* Adds the green list's bias of the watermark. */
  SOTTO_STAGE_WATERMARK = 28
};

/* Predefined orders of the stages. The selection always follows the last stage. */
typedef int32_t sotto_order;
enum {
  /* The order of llama.cpp. LOGITS_CALLBACK, MIN_TOKENS, FORCED, BIAS, SEQUENCE_BIAS, REPETITION,
   * FREQUENCY, PRESENCE, NO_REPEAT_NGRAM, DRY, END_DECAY, TOP_N_SIGMA, TOP_K, TYPICAL, TOP_P,
   * MIN_P, TOP_A, TAIL_FREE, EPSILON, ETA, TOP_H, XTC, TEMPERATURE, SMOOTHING, WATERMARK. */
  SOTTO_ORDER_DEFAULT = 0,
  /* The order of transformers. LOGITS_CALLBACK, BIAS, SEQUENCE_BIAS, REPETITION, FREQUENCY,
   * PRESENCE, NO_REPEAT_NGRAM, DRY, MIN_TOKENS, FORCED, END_DECAY, TEMPERATURE, SMOOTHING, TOP_H,
   * TOP_N_SIGMA, TOP_K, TOP_P, MIN_P, TOP_A, TAIL_FREE, TYPICAL, EPSILON, ETA, XTC, WATERMARK. */
  SOTTO_ORDER_TRANSFORMERS = 1,
  /* The order of vLLM. LOGITS_CALLBACK, MIN_TOKENS, FORCED, BIAS, SEQUENCE_BIAS, REPETITION,
   * FREQUENCY, PRESENCE, NO_REPEAT_NGRAM, DRY, END_DECAY, TEMPERATURE, SMOOTHING, MIN_P, TOP_K,
   * TOP_P, TOP_A, TAIL_FREE, TYPICAL, EPSILON, ETA, TOP_N_SIGMA, TOP_H, XTC, WATERMARK. */
  SOTTO_ORDER_VLLM = 2
};

/* Presets: parameters to start with, by purpose. sotto_sampler_params_init_preset sets them. */
typedef int32_t sotto_preset;
enum {
  /* Factual answers: only the most likely tokens. */
  SOTTO_PRESET_FACTUAL = 1,
  /* Source code: a low temperature, and no penalty, because names repeat. */
  SOTTO_PRESET_CODE = 2,
  /* Conversations: varied text with a mild repetition penalty. */
  SOTTO_PRESET_CHAT = 3,
  /* Translations and summaries: close to the most likely text. */
  SOTTO_PRESET_TRANSLATION = 4,
  /* Stories: the model's own distribution without its tail. */
  SOTTO_PRESET_CREATIVE = 5,
  /* Values taken from the prompt, often under a grammar: the most likely token. */
  SOTTO_PRESET_EXTRACTION = 6,
  /* The order of textbooks: penalties, temperature, top_k, top_p, draw. */
  SOTTO_PRESET_TEXTBOOK = 7
};

/* Method that selects one of the remaining tokens. */
typedef int32_t sotto_selection;
enum {
  /* Draws a token with probability p, by inversion of the cumulative distribution in the order of
   * token ids. */
  SOTTO_SELECT_MULTINOMIAL = 0,
  /* Selects the most likely token, as temperature 0 does. */
  SOTTO_SELECT_GREEDY = 1,
  /* Selects the token with the largest sum of l and Gumbel noise (Gumbel 1954). The distribution is
   * that of MULTINOMIAL. */
  SOTTO_SELECT_GUMBEL = 2,
  /* Mirostat (Basu et al. 2021) keeps the surprise of the text near mirostat_tau bits. The method
   * estimates the Zipf exponent from the mirostat_m most likely tokens and derives from it how many
   * tokens to keep. */
  SOTTO_SELECT_MIROSTAT = 3,
  /* Mirostat 2 removes tokens with a surprise above mu. In both versions, mu starts at 2 tau and
   * decreases by eta (surprise - tau) after each token. */
  SOTTO_SELECT_MIROSTAT_V2 = 4,
  /* Prefers tokens with p near a target. The target is adjusted after each token, so that the
   * decayed mean of the selected p stays at adaptive_target. */
  SOTTO_SELECT_ADAPTIVE_P = 5
};

/* Bias of one token. */
typedef struct sotto_token_bias {
  /* The token. */
  sotto_token token;
  /* Number added to the token's logit. -infinity bans the token. */
  float bias;
} sotto_token_bias;

/* Bias of the last token of a sequence, added when the text ends with the other tokens of the
 * sequence. */
typedef struct sotto_sequence_bias {
  /* The sequence: at least one token. */
  const sotto_token* tokens;
  size_t count;
  /* Number added to the logit of the last token. -infinity bans that token. */
  float bias;
  uint32_t reserved;
} sotto_sequence_bias;

/* Changes the logits: `count` floats, one per token of the vocabulary. NaN counts as -infinity.
 * Tokens with the logit +infinity are equally likely, and no others can follow. If no token is
 * left, the stages that ban tokens, such as this one, are skipped. The callback is called on the
 * session's thread, once per token and sequence. It must not call functions of the session; they
 * return SOTTO_INVALID_STATE then. */
typedef void (*sotto_logits_fn)(void* user_data, float* logits, size_t count);

/* The same, with the tokens before the one to be selected: `token_count` tokens of the stream,
 * oldest first, at most the newest context_tokens (2048 without a session). In a search, `tokens`
 * are those of the sequence whose logits are passed, and `sequence` is the index of the sample, or
 * of the beam among the beams of this step. Otherwise, `sequence` is 0, or that of
 * sotto_sampler_input. */
typedef void (*sotto_logits_processor_fn)(void* user_data, const sotto_token* tokens, size_t token_count,
                                          uint32_t sequence, float* logits, size_t count);

/* ---- Watermarks ------------------------------------------------------------ */

/* Kinds of watermarks. A watermark is a statistical pattern in generated text that
 * sotto_watermark_detect recognizes. LEFT_HASH and SELF_HASH change the logits. TOURNAMENT and
 * GUMBEL replace the selection; averaged over all keys, they leave the distribution of a token
 * unchanged. They require the selection MULTINOMIAL and a temperature above 0. The only search that
 * supports them is SOTTO_SEARCH_SAMPLE. */
typedef int32_t sotto_watermark_scheme;
enum {
  /* No watermark. */
  SOTTO_WATERMARK_NONE = 0,
  /* Green list (Kirchenbauer et al. 2023): a hash of the key, the previous context_width tokens and
   * a token decides whether the token belongs to the green fraction gamma of the vocabulary. The
   * logits of green tokens are raised by delta. */
  SOTTO_WATERMARK_LEFT_HASH = 1,
  /* Green list like LEFT_HASH, but the context of a token includes the token itself, and the
   * smallest hash in the context decides (Kirchenbauer et al. 2024). */
  SOTTO_WATERMARK_SELF_HASH = 2,
  /* Tournament sampling with tournament_layers rounds (SynthID, Dathathri et al. 2024). */
  SOTTO_WATERMARK_TOURNAMENT = 3,
  /* Gumbel-max trick whose noise is a hash of the key, the context and the token (Aaronson 2022). */
  SOTTO_WATERMARK_GUMBEL = 4
};

/* Parameters of a watermark. Detection needs the same parameters as generation. */
typedef struct sotto_watermark_params {
  uint32_t struct_size;
  /* Kind of watermark. Default: NONE. */
  sotto_watermark_scheme scheme;
  /* Number of context tokens that are hashed. Default: 0 (4 for SELF_HASH, TOURNAMENT and GUMBEL, 1
   * for LEFT_HASH). Range: 0 to 16. */
  uint32_t context_width;
  /* Fraction of the vocabulary that is green. Default: 0.25. Range: greater than 0 and less than 1. */
  float gamma;
  /* Number added to the logits of green tokens. Default: 2. Range: 0 to 100. */
  float delta;
  /* Number of rounds in the tournament. Default: 30. Range: 1 to 64. */
  uint32_t tournament_layers;
  /* Secret key of the hashes. Default: 15485863. */
  uint64_t key;
} sotto_watermark_params;

/* Result of sotto_watermark_detect. */
typedef struct sotto_watermark_result {
  uint32_t struct_size;
  /* True if z is greater than 3. */
  uint32_t is_marked;
  /* Number of scored tokens. If a context and its token occur several times, they are scored once. */
  uint64_t token_count;
  /* Score of the text. For green lists it is the number of green tokens, for TOURNAMENT the mean of
   * the random bits of the tokens, and for GUMBEL the mean of -ln(1-r) of their random numbers r. */
  double score;
  /* Distance from the expectation for unmarked text, in standard deviations. For green lists it is
   * (g - gamma T) / sqrt(T gamma (1-gamma)), where T tokens were scored and g of them are green. */
  double z;
  /* Probability that unmarked text reaches this z. */
  double p_value;
} sotto_watermark_result;

SOTTO_API void sotto_watermark_params_init(sotto_watermark_params* params, size_t params_size);

/* Detects a watermark in a sequence of tokens, without a model or session. `vocabulary_size` must
 * be that of the model that generated the tokens. In the worst case, the time grows with the square
 * of `count`. Errors: INVALID_ARGUMENT naming the parameter, or a token outside the vocabulary. */
SOTTO_API sotto_status sotto_watermark_detect(const sotto_watermark_params* params, size_t vocabulary_size,
                                              const sotto_token* tokens, size_t count, sotto_watermark_result* result,
                                              sotto_error* error);

/* ---- Parameters ------------------------------------------------------------ */

/* Decoding by contrasting layers (DoLa, Chuang et al. 2023), as in transformers 4.46. The logits
 * become ln p of the last layer minus ln p of an earlier layer. DoLa chooses this layer in the
 * lower or the upper half: its distribution differs most from that of the last layer. A tied head
 * is applied to the state before the layer without the final norm. A head of its own is applied to
 * the norm of that state, unlike in transformers, because its weights contain scales of the norm. */
typedef int32_t sotto_dola;
enum {
  /* No contrast. */
  SOTTO_DOLA_OFF = 0,
  /* Contrasts the last layer with the lower half. */
  SOTTO_DOLA_LOW = 1,
  /* Contrasts the last layer with the upper half. */
  SOTTO_DOLA_HIGH = 2
};

/* Parameters of the sampler. Arrays are copied; they may be NULL if their count is 0. */
typedef struct sotto_sampler_params {
  uint32_t struct_size;
  /* Temperature T: the logits are divided by it. With T = 0, the other stages use T = 1, and the
   * most likely token that they leave is selected. Default: 0.8. Range: 0 to 100. 1 disables it. */
  float temperature;
  /* Keeps the k most likely tokens. Default: 40. 0 disables it. */
  uint32_t top_k;
  /* Keeps the smallest set of most likely tokens whose probabilities sum to at least top_p (nucleus
   * sampling, Holtzman et al. 2020). Default: 0.95. Range: greater than 0 and at most 1. 1
   * disables it. */
  float top_p;
  /* Keeps tokens with p >= min_p max p (Nguyen et al. 2024). Default: 0.05. Range: 0 to 1. 0
   * disables it. */
  float min_p;
  /* Penalty r of the tokens in the window: l becomes l/r if l > 0, and l*r otherwise (Keskar et al.
   * 2019). Default: 1 (off). Range: greater than 0 and at most 100. */
  float repetition_penalty;
  /* Number of recent tokens that the repetition, frequency and presence penalties consider.
   * Default: 64. UINT32_MAX means all that the session holds, at most context_tokens. 0
   * disables it. */
  uint32_t repetition_window;
  /* If true, each parameter with its default value takes the value that the model file recommends,
   * if any (see default_temperature in sotto_model_info). A sampler without a session then needs a
   * model. Default: 0. */
  uint32_t model_defaults;
  /* Seed of the random numbers. Default: 0. */
  uint64_t seed;

  /* ---- Chain ---- */

  /* Order of the stages. Default: DEFAULT. */
  sotto_order order;
  /* Minimum number of tokens that a truncation keeps. Default: 1. Range: at least 1. */
  uint32_t min_keep;
  /* Stages to run instead of the stages of `order`. Each may occur once. Every parameter that is on
   * needs its stage in the list. If the list is empty, `order` applies. */
  const sotto_stage* stages;
  size_t stage_count;

  /* ---- Repetition ---- */

  /* Penalty f: l decreases by f c(t). Default: 0 (off). Range: -100 to 100. */
  float frequency_penalty;
  /* Penalty v: l decreases by v for tokens with c(t) > 0. Default: 0 (off). Range: -100 to 100. */
  float presence_penalty;
  /* If true, the windows of all penalties include the prompt, otherwise only generated tokens.
   * Default: 1. */
  uint32_t penalize_prompt;
  /* Slope of the curve that reduces the repetition, frequency and presence penalties of older
   * tokens in the window. Default: 0 (off). Range: 0 to 10. */
  float penalty_slope;
  /* Multiplier m of the DRY penalty (p-e-w 2024): l decreases by m b^(n-a) for a token that would
   * extend a repetition of n >= a tokens. Default: 0 (off). Range: 0 to 100. */
  float dry_multiplier;
  /* Base b of the DRY penalty. Default: 1.75. Range: 1 to 10. */
  float dry_base;
  /* Allowed length a of DRY. Repetitions of fewer tokens are not penalized. Default: 2. */
  uint32_t dry_allowed_length;
  /* Number of recent tokens that DRY searches for repetitions. Default: UINT32_MAX (all). */
  uint32_t dry_window;
  /* Strings that interrupt a repetition: DRY does not look past a token that contains one of them.
   * Default: "\n" ":" "\"" "*". */
  const sotto_text* dry_breakers;
  size_t dry_breaker_count;
  /* Tokens that interrupt a repetition in the same way. */
  const sotto_token* dry_breaker_tokens;
  size_t dry_breaker_token_count;
  /* Length of the n-grams that must not occur twice in the text. Default: 0 (off). */
  uint32_t no_repeat_ngram;
  /* Number of recent tokens that the repetition guard examines. The more repetitive they are (see
   * repetition_limit in sotto_stop_params), the further the guard moves the penalty from
   * repetition_penalty towards guard_penalty. Default: 0 (off). Range: 0 to 256. */
  uint32_t guard_window;
  /* Repetition penalty of the guard for text that only repeats itself. Default: 1.5. Range: 1
   * to 100. */
  float guard_penalty;

  /* ---- Temperature ---- */

  /* Range r of the dynamic temperature max(0, T-r) + (T+r - max(0, T-r)) (H / ln N)^e, where N is
   * the number of tokens that can be drawn. A range above 0 applies even if T is 0. Default:
   * 0 (off). Range: 0 to 100. */
  float temperature_range;
  /* Exponent e of the dynamic temperature. Default: 1. Range: 0 to 10. */
  float temperature_exponent;
  /* Factor f of quadratic smoothing: l becomes max - k f d^2 + s f d^3, where d = l - max, k =
   * (3-c)/2 and s = (c-1)/2. Default: 0 (off). Range: 0 to 100. */
  float smoothing_factor;
  /* Curve c of quadratic smoothing. With 1 the curve is a parabola. Default: 1. Range: 1 to 10. */
  float smoothing_curve;

  /* ---- Truncation ---- */

  /* Factor of top_p per token: after t generated tokens it is max(top_p_min, top_p decay^t).
   * Default: 1 (off). Range: greater than 0 and at most 1. */
  float top_p_decay;
  /* Lower limit of the decayed top_p. Default: 0. Range: 0 to top_p. */
  float top_p_min;
  /* Token that resets t to 0. Default: -1 (none). */
  sotto_token top_p_reset_token;
  /* Keeps tokens with p >= top_a (max p)^2. Default: 0 (off). Range: 0 to 1. */
  float top_a;
  /* Tail-free sampling (Phan 2019): keeps the most likely tokens up to the point where the
   * normalized absolute second differences of the sorted probabilities sum to tail_free. Default:
   * 1 (off). Range: greater than 0 and at most 1. */
  float tail_free;
  /* Locally typical sampling (Meister et al. 2023): keeps the tokens with the smallest |-ln p - H|
   * whose probabilities sum to at least typical_p. Default: 1 (off). Range: greater than 0 and at
   * most 1. */
  float typical_p;
  /* Keeps tokens with p >= epsilon (Hewitt et al. 2022). Default: 0 (off). Range: at least 0 and
   * less than 1. */
  float epsilon;
  /* Keeps tokens with p >= min(eta, sqrt(eta) e^-H) (Hewitt et al. 2022). Default: 0 (off). Range:
   * at least 0 and less than 1. */
  float eta;
  /* Keeps tokens with l >= max - n sigma, where sigma is the standard deviation of the finite
   * logits (Tang et al. 2024). Default: 0 (off). Range: 0 to 100. */
  float top_n_sigma;
  /* Keeps the most likely tokens as long as their entropy is at most top_h H (Potraghloo et al.
   * 2025). Default: 1 (off). Range: greater than 0 and at most 1. */
  float top_h;
  /* Probability that XTC (p-e-w 2024) acts on a token. XTC then removes all tokens with p >=
   * xtc_threshold except the least likely of them. Default: 0 (off). Range: 0 to 1. */
  float xtc_probability;
  /* Threshold of XTC. Above 0.5 it has no effect. Default: 0.1. Range: 0 to 1. */
  float xtc_threshold;

  /* ---- Selection ---- */

  /* Method that selects one of the remaining tokens. Default: MULTINOMIAL. */
  sotto_selection selection;
  /* Target surprise of Mirostat, in bits. Default: 5. Range: greater than 0 and at most 20. */
  float mirostat_tau;
  /* Learning rate of Mirostat. Default: 0.1. Range: greater than 0 and at most 1. */
  float mirostat_eta;
  /* Number of most likely tokens that MIROSTAT uses to estimate the Zipf exponent. Default: 100.
   * Range: at least 2. */
  uint32_t mirostat_m;
  /* Target probability of ADAPTIVE_P. Default: -1 (not set, which ADAPTIVE_P rejects). Range: 0
   * to 1. */
  float adaptive_target;
  /* Decay of the mean that ADAPTIVE_P computes. Default: 0.9. Range: 0 to 0.99. */
  float adaptive_decay;

  /* ---- Bans, bias, forcing. Positions are counted from the last prefill ---- */

  /* Number of tokens that are generated before an end-of-text token is allowed. Default: 0 (off). */
  uint32_t min_new_tokens;
  /* If true, no end-of-text token is generated. Default: 0. */
  uint32_t ignore_end;
  /* Start s of the end decay: after t > s generated tokens, the logit l of the end-of-text token
   * increases by |l| (f^(t-s) - 1). Default: 0. */
  uint32_t end_decay_start;
  /* Factor f of the end decay. Default: 1 (off). Range: 0 to 10. */
  float end_decay_factor;
  /* Token that is forced as the last one when the limit max_tokens is reached. Default: -1 (none). */
  sotto_token forced_last_token;
  /* Biases of single tokens. */
  const sotto_token_bias* logit_bias;
  size_t logit_bias_count;
  /* Biases of token sequences. */
  const sotto_sequence_bias* sequence_bias;
  size_t sequence_bias_count;
  /* Token sequences that must not be generated. */
  const sotto_token_list* bad_words;
  size_t bad_word_count;
  /* The only tokens that may be generated. If the list is empty, all tokens are allowed. */
  const sotto_token* allowed_tokens;
  size_t allowed_token_count;
  /* Tokens that must not be generated. */
  const sotto_token* suppressed_tokens;
  size_t suppressed_token_count;
  /* Tokens that must not be generated as the first token. */
  const sotto_token* begin_suppressed_tokens;
  size_t begin_suppressed_token_count;
  /* Tokens that begin the generated text. A token that the grammar, allowed_tokens,
   * suppressed_tokens or bad_words exclude is not forced. */
  const sotto_token* forced_prefix;
  size_t forced_prefix_count;
  /* Called before all other stages to change the logits. May be NULL. */
  sotto_logits_fn logits_callback;
  void* logits_user_data;

  /* ---- Watermark ---- */

  /* Watermark of the text, or NULL for none. The struct is copied. */
  const sotto_watermark_params* watermark;

  /* ---- Layers (before the chain; the session needs SOTTO_FEATURE_DOLA) ---- */

  /* Layers that DoLa compares with the last layer. Default: OFF. */
  sotto_dola dola;
  /* DoLa removes tokens with p below this fraction of max p, both under the last layer.
   * Default: 0.1. Range: 0 to 1. */
  float dola_relative_top;

  /* ---- Reports ---- */

  /* If true, the log probabilities in sotto_piece are computed. Default: 0. */
  uint32_t log_probabilities;
  /* Number of most likely tokens that each sotto_piece lists. Default: 0. Range: 0 to 64. */
  uint32_t alternative_count;
  /* If true, the entropy, the effective vocabulary, the number of kept tokens and the
   * repetitiveness in sotto_piece are computed. Default: 0. */
  uint32_t statistics;

  /* ---- Logits callback that sees the tokens ---- */

  /* Called after logits_callback, with the tokens before the one to be selected. May be NULL. */
  sotto_logits_processor_fn logits_processor;
  void* processor_user_data;
} sotto_sampler_params;

SOTTO_API void sotto_sampler_params_init(sotto_sampler_params* params, size_t params_size);

/* Sets the defaults, then the values of a preset, after which other parameters may be changed.
 * Returns INVALID_ARGUMENT, without a change, for a preset that this version does not have. */
SOTTO_API sotto_status sotto_sampler_params_init_preset(sotto_sampler_params* params, size_t params_size,
                                                        sotto_preset preset);

/* Sets the sampler's parameters and restarts its random numbers from the seed. Before the first
 * call, the defaults apply. Errors: INVALID_ARGUMENT naming the parameter; the lists together may
 * take list_bytes of sotto_session_params. After a failure, the old parameters stay in effect. */
SOTTO_API sotto_status sotto_session_set_sampler(sotto_session* session, const sotto_sampler_params* params,
                                                 sotto_error* error);

/* ---- Samplers without a session ---------------------------------------------- */

/* A sampler without a session, for the logits of any runtime and for experiments with parameters. */
typedef struct sotto_sampler sotto_sampler;

/* Input of a sampler for one token. */
typedef struct sotto_sampler_input {
  uint32_t struct_size;
  /* Index of the random number stream to draw from. */
  uint32_t sequence;
  /* Logits of all tokens. They are not changed. */
  const float* logits;
  /* Mask of the allowed tokens: bit i % 64 of word i / 64 stands for token i. At least one token
   * must be allowed. NULL allows all tokens. */
  const uint64_t* allowed;
  /* The previous tokens, newest last. The stages consider the last 2048. May be NULL if there are
   * none. */
  const sotto_token* history;
  size_t history_count;
  /* Number of tokens at the end of the history that were generated. */
  uint64_t generated_count;
  /* Maximum number of generated tokens, or 0 if it is not known. */
  uint64_t token_limit;
} sotto_sampler_input;

/* Returns the number of bytes that sotto_sampler_init needs. `list_bytes` is the number of bytes
 * reserved for the lists in the sampler's parameters, as in sotto_session_params. Errors:
 * INVALID_ARGUMENT (vocabulary_size must be from 1 to 2^22, and list_bytes at most 2^24). */
SOTTO_API sotto_status sotto_sampler_memory_size(size_t vocabulary_size, uint32_t list_bytes, size_t* memory_size,
                                                 sotto_error* error);

/* Builds a sampler with default parameters in `memory`. The memory must outlive it; there is no
 * _deinit function. `model` defines the bytes of tokens (for dry_breakers) and the end-of-text
 * token; its vocabulary must have vocabulary_size tokens. If `model` is NULL, tokens have no text,
 * and there is no end-of-text token. Errors: as above, MEMORY_TOO_SMALL, MEMORY_MISALIGNED. */
SOTTO_API sotto_status sotto_sampler_init(const sotto_model* model, size_t vocabulary_size, uint32_t list_bytes,
                                          void* memory, size_t memory_size, sotto_sampler** sampler,
                                          sotto_error* error);

/* Sets the sampler's parameters as sotto_session_set_sampler does. The parameter dola must be off. */
SOTTO_API sotto_status sotto_sampler_set(sotto_sampler* sampler, const sotto_sampler_params* params,
                                         sotto_error* error);

/* Selects a token. The random numbers are those that a session with the same seed would use after
 * history_count tokens. The state of Mirostat and adaptive-p persists between calls until
 * sotto_sampler_set. Errors: INVALID_ARGUMENT naming the field, or because allowed, allowed_tokens,
 * suppressed_tokens and bad_words leave no token. */
SOTTO_API sotto_status sotto_sampler_sample(sotto_sampler* sampler, const sotto_sampler_input* input,
                                            sotto_token* token, sotto_error* error);

/* Computes the distribution that a token is drawn from: the remaining tokens in the order of their
 * ids, and their probabilities. The distribution is the result of the chain and of the state that
 * Mirostat and adaptive-p have after earlier calls of sotto_sampler_sample; watermarks that replace
 * the selection do not change it. With temperature 0 or SOTTO_SELECT_GREEDY, only the most likely
 * token remains. `*count` receives the number of remaining tokens, even with BUFFER_TOO_SMALL. The
 * arrays may be NULL when `capacity` is 0. */
SOTTO_API sotto_status sotto_sampler_apply(sotto_sampler* sampler, const sotto_sampler_input* input,
                                           sotto_token* tokens, float* probabilities, size_t capacity, size_t* count,
                                           sotto_error* error);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_SAMPLER_H */
