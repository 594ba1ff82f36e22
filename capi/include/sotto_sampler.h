/* sotto_sampler.h - how a token is chosen: the chain of stages between a session's logits and
 * its token, watermarks, and the detectors of watermarks. Part of sotto.h, which includes it.
 */
#ifndef SOTTO_SAMPLER_H
#define SOTTO_SAMPLER_H

#include "sotto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The chain ------------------------------------------------------------- */

/* Notation: l logits, p = softmax(l) over the tokens still in play, H = -sum p ln p,
 * c(t) how often t stands in the penalty window. What may not come (a grammar's mask) is
 * left out before the first stage and never comes back. A truncation keeps at least min_keep
 * tokens; ties go to the lowest token id; NaN counts as -infinity. A stage whose parameters
 * are off does nothing. */
typedef int32_t sotto_stage;
enum {
  SOTTO_STAGE_LOGITS_CALLBACK = 1,
  SOTTO_STAGE_BIAS = 2, /* logit_bias */
  SOTTO_STAGE_SEQUENCE_BIAS = 3,
  SOTTO_STAGE_ALLOWED = 4,  /* allowed_tokens */
  SOTTO_STAGE_SUPPRESS = 5, /* suppressed, begin_suppressed, ignore_end */
  SOTTO_STAGE_BAD_WORDS = 6,
  SOTTO_STAGE_MIN_TOKENS = 7,
  SOTTO_STAGE_FORCED = 8, /* forced_prefix, forced_last_token */
  SOTTO_STAGE_END_DECAY = 9,
  SOTTO_STAGE_REPETITION = 10, /* repetition_penalty, guard */
  SOTTO_STAGE_FREQUENCY = 11,
  SOTTO_STAGE_PRESENCE = 12,
  SOTTO_STAGE_NO_REPEAT_NGRAM = 13,
  SOTTO_STAGE_DRY = 14,
  SOTTO_STAGE_TEMPERATURE = 15,
  SOTTO_STAGE_SMOOTHING = 16,
  SOTTO_STAGE_TOP_K = 17,
  SOTTO_STAGE_TOP_P = 18,
  SOTTO_STAGE_MIN_P = 19,
  SOTTO_STAGE_TOP_A = 20,
  SOTTO_STAGE_TAIL_FREE = 21,
  SOTTO_STAGE_TYPICAL = 22,
  SOTTO_STAGE_EPSILON = 23,
  SOTTO_STAGE_ETA = 24,
  SOTTO_STAGE_TOP_N_SIGMA = 25,
  SOTTO_STAGE_TOP_H = 26,
  SOTTO_STAGE_XTC = 27,
  SOTTO_STAGE_WATERMARK = 28 /* the bias of a green list */
};

/* Ready-made orders. Selection comes last in each. */
typedef int32_t sotto_order;
enum {
  /* As llama.cpp: callback, bans, forcing, biases, penalties, n-grams, dry, end decay,
   * top_n_sigma, top_k, typical, top_p, min_p, top_a, tail_free, epsilon, eta, top_h, xtc,
   * temperature, smoothing, watermark. */
  SOTTO_ORDER_DEFAULT = 0,
  /* As transformers: callback, bias, sequence bias, repetition, frequency, presence, n-grams,
   * dry, bad words, min tokens, forced, end decay, allowed, suppress, temperature, smoothing,
   * top_h, top_n_sigma, top_k, top_p, min_p, top_a, tail_free, typical, epsilon, eta, xtc,
   * watermark. */
  SOTTO_ORDER_HF = 1,
  /* As vLLM: callback, allowed, suppress, bad words, min tokens, forced, bias, sequence bias,
   * repetition, frequency, presence, n-grams, dry, end decay, temperature, smoothing, min_p,
   * top_k, top_p, top_a, tail_free, typical, epsilon, eta, top_n_sigma, top_h, xtc, watermark. */
  SOTTO_ORDER_OPENAI = 2
};

/* How one of the tokens that are left is picked. */
typedef int32_t sotto_selection;
enum {
  /* In proportion to p, by inversion in order of token id. */
  SOTTO_SELECT_MULTINOMIAL = 0,
  /* The most likely; also chosen by temperature 0. */
  SOTTO_SELECT_GREEDY = 1,
  /* The largest l plus Gumbel noise of the token (Gumbel 1954): the same distribution. */
  SOTTO_SELECT_GUMBEL = 2,
  /* Keeps surprise near mirostat_tau bits (Basu et al. 2021): estimates the Zipf exponent from
   * the mirostat_m likeliest and keeps the k that follow from it. */
  SOTTO_SELECT_MIROSTAT = 3,
  /* The same by dropping tokens of more surprise than mu. In both mu begins at
   * 2 tau and falls by eta (surprise - tau) a token. */
  SOTTO_SELECT_MIROSTAT_V2 = 4,
  /* Favours tokens whose p is near adaptive_target, corrected by the decayed mean of what was
   * picked, so that the mean stays there. */
  SOTTO_SELECT_ADAPTIVE_P = 5
};

typedef struct sotto_token_bias {
  sotto_token token;
  float bias; /* -infinity bans */
} sotto_token_bias;

/* Bias of the last token wherever the ones before it have just come. */
typedef struct sotto_sequence_bias {
  const sotto_token* tokens; /* `count` of them, at least 1 */
  size_t count;
  float bias; /* -infinity bans */
  uint32_t reserved;
} sotto_sequence_bias;

/* May change the `count` (vocabulary_size) logits in any way; NaN becomes -infinity. Called
 * on the session's thread, once a token and sequence. */
typedef void (*sotto_logits_fn)(void* user_data, float* logits, size_t count);

/* ---- Watermarks ------------------------------------------------------------ */

typedef int32_t sotto_watermark_scheme;
enum {
  SOTTO_WATERMARK_NONE = 0,
  /* Green list (Kirchenbauer et al. 2023): delta is added to the logits of the tokens that a
   * hash of key, context and token puts among the fraction gamma. LEFT_HASH: the context is
   * the context_width tokens before. */
  SOTTO_WATERMARK_LEFT_HASH = 1,
  /* The token is part of its own context, anchored at the least hash (Kirchenbauer et al.
   * 2024). */
  SOTTO_WATERMARK_SELF_HASH = 2,
  /* Tournament sampling of tournament_layers rounds, in place of the selection (Dathathri et
   * al. 2024), which must be MULTINOMIAL with a temperature above 0; of the searches only
   * SOTTO_SEARCH_SAMPLE has one. The distribution over keys is unchanged. */
  SOTTO_WATERMARK_TOURNAMENT = 3,
  /* Gumbel noise from a hash of key, context and token, in place of the selection as there
   * (Aaronson 2022). The distribution over keys is unchanged. */
  SOTTO_WATERMARK_GUMBEL = 4
};

typedef struct sotto_watermark_params {
  uint32_t struct_size;
  sotto_watermark_scheme scheme; /* default NONE */
  uint32_t context_width;        /* tokens hashed, 1 ... 16; default 0: 4 for SELF_HASH, TOURNAMENT
                                    and GUMBEL, 1 for LEFT_HASH */
  float gamma;                   /* green fraction, above 0 and below 1; default 0.25 */
  float delta;                   /* default 2; 0 ... 100 */
  uint32_t tournament_layers;    /* default 30; 1 ... 64 */
  uint64_t key;                  /* default 15485863; detection needs the same */
} sotto_watermark_params;

typedef struct sotto_watermark_result {
  uint32_t struct_size;
  uint32_t is_marked;   /* 1: z above 3 */
  uint64_t token_count; /* scored: a context and token that came before count once */
  double score;         /* green tokens; TOURNAMENT: mean g; GUMBEL: mean -ln(1-r) */
  double z;             /* standard deviations above unmarked text:
                           (g - gamma T) / sqrt(T gamma (1-gamma)) for green lists */
  double p_value;       /* chance that unmarked text has such a z */
} sotto_watermark_result;

SOTTO_API void sotto_watermark_params_init(sotto_watermark_params* params, size_t params_size);

/* Looks for a watermark. Needs neither model nor session: `vocabulary_size` is that of the
 * model that wrote the tokens. Time grows with count squared at worst. Errors:
 * INVALID_ARGUMENT naming the parameter, or a token outside the vocabulary. */
SOTTO_API sotto_status sotto_watermark_detect(const sotto_watermark_params* params, size_t vocabulary_size,
                                              const sotto_token* tokens, size_t count, sotto_watermark_result* result,
                                              sotto_error* error);

/* ---- Parameters ------------------------------------------------------------ */

/* Layers against layers (Chuang et al. 2023): ln p of the last layer less ln p of the earlier
 * layer that differs most from it, chosen among the lower or upper half. */
typedef int32_t sotto_dola;
enum { SOTTO_DOLA_OFF = 0, SOTTO_DOLA_LOW = 1, SOTTO_DOLA_HIGH = 2 };

/* Arrays are copied by sotto_session_set_sampler and may be NULL where their count is 0.
 * Ranges include both ends unless said. "off" is the value that disables. */
typedef struct sotto_sampler_params {
  uint32_t struct_size;
  float temperature;          /* l/T; 0: the most likely token that the other stages leave, as
                                 they are at T = 1; default 0.8; 0 ... 100 */
  uint32_t top_k;             /* exactly the k most likely stay; off 0; default 40 */
  float top_p;                /* smallest set whose probability reaches p stays (Holtzman
                                 et al. 2020); off 1; default 0.95; above 0 ... 1 */
  float min_p;                /* p >= min_p * max p stay (Nguyen et al. 2024); off 0;
                                 default 0.05; 0 ... 1 */
  float repetition_penalty;   /* tokens of the window: l > 0 ? l/r : l*r (Keskar et al.
                                 2019); off 1, the default; above 0 ... 100 */
  uint32_t repetition_window; /* newest tokens that are penalised; default 64; 0: none;
                                 UINT32_MAX: all the session holds, at most context_tokens */
  uint32_t log_probabilities; /* 1: fill the log probabilities of sotto_piece; default 0 */
  uint64_t seed;              /* default 0 */

  /* The chain. */
  sotto_order order;         /* default SOTTO_ORDER_DEFAULT */
  uint32_t min_keep;         /* fewest tokens a truncation leaves; default 1; at least 1 */
  const sotto_stage* stages; /* instead of `order`: exactly these, none twice. A parameter that
                                is on while its stage is missing is an error */
  size_t stage_count;        /* 0: `order` holds */

  /* Repetition. */
  float frequency_penalty;     /* l -= f c(t); off 0; -100 ... 100 */
  float presence_penalty;      /* l -= v where c(t) > 0; off 0; -100 ... 100 */
  uint32_t penalize_prompt;    /* default 1: the windows reach into the prompt */
  float penalty_slope;         /* older tokens of the window weigh less in the three penalties;
                                  off 0; 0 ... 10 */
  uint32_t no_repeat_ngram;    /* no n tokens come twice; off 0 */
  float dry_multiplier;        /* DRY (p-e-w 2024): l -= m b^(n-a) for the token that would repeat
                                  a sequence of n >= a tokens; off 0; 0 ... 100 */
  float dry_base;              /* b; default 1.75; 1 ... 10 */
  uint32_t dry_allowed_length; /* a; default 2 */
  uint32_t dry_window;         /* newest tokens searched; default UINT32_MAX: all */
  uint32_t guard_window;       /* newest tokens whose repetitiveness (0 ... 1) raises the penalty
                                  from repetition_penalty towards guard_penalty; off 0; at most
                                  256 */
  float guard_penalty;         /* default 1.5; 1 ... 100 */
  uint32_t reserved0;
  const sotto_text* dry_breakers; /* sequences end at tokens that contain one of these;
                                            default "\n" ":" "\"" "*" */
  size_t dry_breaker_count;
  const sotto_token* dry_breaker_tokens; /* these break sequences as well */
  size_t dry_breaker_token_count;

  /* Temperature. */
  float temperature_range;    /* dynamic temperature: T-r + 2r (H / ln N)^e, from max(0, T-r),
                                 also where T is 0; off 0; 0 ... 100 */
  float temperature_exponent; /* e; default 1; 0 ... 10 */
  float smoothing_factor;     /* f; with d = l - max: l = max - k f d^2 + s f d^3,
                                 k = (3-c)/2, s = (c-1)/2; off 0; 0 ... 100 */
  float smoothing_curve;      /* c; default 1; 1 ... 10 */

  /* Truncation. */
  float top_p_decay;             /* p_t = max(top_p_min, top_p decay^t); off 1; above 0 ... 1 */
  float top_p_min;               /* default 0; 0 ... top_p */
  sotto_token top_p_reset_token; /* t begins again behind it; default -1: none */
  float top_a;                   /* p >= a max p^2 stay; off 0; 0 ... 1 */
  float tail_free;               /* the sorted prefix whose normalised |second differences| of p sum up to
                                    z stays (Phan 2019); off 1; above 0 ... 1 */
  float typical_p;               /* tokens nearest to |-ln p - H| = 0 with mass P stay (Meister et al.
                                    2023); off 1; above 0 ... 1 */
  float epsilon;                 /* p >= epsilon stay (Hewitt et al. 2022); off 0; 0 ... below 1 */
  float eta;                     /* p >= min(eta, sqrt(eta) e^-H) stay (Hewitt et al. 2022); off 0;
                                    0 ... below 1 */
  float top_n_sigma;             /* l >= max - n sigma of the finite logits stay (Tang et al. 2024); off 0;
                                    0 ... 100 */
  float top_h;                   /* sorted prefix whose entropy stays within h H (Potraghloo et al. 2025);
                                    off 1; above 0 ... 1 */
  float xtc_probability;         /* with this chance all tokens with p >= threshold but the least likely
                                    of them go (p-e-w 2024); off 0; 0 ... 1 */
  float xtc_threshold;           /* default 0.1; above 0.5: off; 0 ... 1 */

  /* Selection. */
  sotto_selection selection; /* default MULTINOMIAL */
  float mirostat_tau;        /* bits; default 5; above 0 ... 20 */
  float mirostat_eta;        /* default 0.1; above 0 ... 1 */
  uint32_t mirostat_m;       /* default 100; at least 2 */
  float adaptive_target;     /* 0 ... 1; default -1: off, an error with ADAPTIVE_P */
  float adaptive_decay;      /* default 0.9; 0 ... 0.99 */

  /* Bans, bias, forcing. Positions count generated tokens: those since the last prefill. */
  uint32_t min_new_tokens;       /* no end of text before so many */
  uint32_t ignore_end;           /* 1: end of text never comes */
  uint32_t end_decay_start;      /* s, tokens; with t generated tokens t > s:
                                    l_end += |l_end| (f^(t-s) - 1) */
  float end_decay_factor;        /* f; off 1; 0 ... 10 */
  sotto_token forced_last_token; /* the token at the limit of max_tokens; default -1: none */
  uint32_t reserved1;
  const sotto_token_bias* logit_bias;
  size_t logit_bias_count;
  const sotto_sequence_bias* sequence_bias;
  size_t sequence_bias_count;
  const sotto_token_list* bad_words; /* sequences that never come whole */
  size_t bad_word_count;
  const sotto_token* allowed_tokens; /* only these; none given: all */
  size_t allowed_token_count;
  const sotto_token* suppressed_tokens; /* never */
  size_t suppressed_token_count;
  const sotto_token* begin_suppressed_tokens; /* not as the first generated token */
  size_t begin_suppressed_token_count;
  const sotto_token* forced_prefix; /* the first generated tokens */
  size_t forced_prefix_count;
  sotto_logits_fn logits_callback; /* may be NULL */
  void* logits_user_data;

  const sotto_watermark_params* watermark; /* copied; NULL: none */

  /* Before the chain, with SOTTO_FEATURE_DOLA. */
  sotto_dola dola;         /* default OFF */
  float dola_relative_top; /* tokens with p below this share of max p under the last layer go;
                              default 0.1; 0 ... 1 */

  uint32_t alternative_count; /* likeliest tokens reported in each sotto_piece; default 0;
                                 at most 64 */
  uint32_t reserved2;
} sotto_sampler_params;

SOTTO_API void sotto_sampler_params_init(sotto_sampler_params* params, size_t params_size);

/* Sets the sampler and restarts its random numbers from the seed; without a call the
 * defaults hold. Errors: INVALID_ARGUMENT naming the parameter (its lists together may take
 * list_bytes of sotto_session_params); the old ones stay. */
SOTTO_API sotto_status sotto_session_set_sampler(sotto_session* session, const sotto_sampler_params* params,
                                                 sotto_error* error);

/* ---- A sampler of its own ---------------------------------------------------- */

/* The chain without a session, for the logits of any runtime, and for looking at what a
 * setting does. */
typedef struct sotto_sampler sotto_sampler;

/* One token's situation. */
typedef struct sotto_sampler_input {
  uint32_t struct_size;
  uint32_t sequence;          /* which stream of random numbers; default 0 */
  const float* logits;        /* vocabulary_size; not changed */
  const uint64_t* allowed;    /* bit i % 64 of word i / 64: token i may come; at least one;
                                 NULL: all */
  const sotto_token* history; /* the tokens before, newest last; may be NULL if there are none.
                                 Stages look at the newest 2048 */
  size_t history_count;
  uint64_t generated_count; /* of them, at the end, generated; at most history_count */
  uint64_t token_limit;     /* generated tokens at which the text ends; 0: not known */
} sotto_sampler_input;

/* Bytes sotto_sampler_init needs. `list_bytes` as in sotto_session_params. Errors:
 * INVALID_ARGUMENT (vocabulary_size 1 ... 2^22, list_bytes at most 2^24). */
SOTTO_API sotto_status sotto_sampler_memory_size(size_t vocabulary_size, uint32_t list_bytes, size_t* memory_size,
                                                 sotto_error* error);

/* Builds a sampler with the defaults in `memory`, which must outlive it; nothing needs to be
 * undone. `model` gives the bytes of tokens (dry_breakers) and its end of text; it may be
 * NULL: no token has text or ends one. Its vocabulary_size must be the given one.
 * Errors: as above, MEMORY_TOO_SMALL, MEMORY_MISALIGNED. */
SOTTO_API sotto_status sotto_sampler_init(const sotto_model* model, size_t vocabulary_size, uint32_t list_bytes,
                                          void* memory, size_t memory_size, sotto_sampler** sampler,
                                          sotto_error* error);

/* As sotto_session_set_sampler; dola must be off. */
SOTTO_API sotto_status sotto_sampler_set(sotto_sampler* sampler, const sotto_sampler_params* params,
                                         sotto_error* error);

/* Picks a token. The random numbers are those of place history_count of the seed's stream.
 * What Mirostat and adaptive-p learn goes from call to call, until sotto_sampler_set.
 * Errors: INVALID_ARGUMENT naming the field. */
SOTTO_API sotto_status sotto_sampler_pick(sotto_sampler* sampler, const sotto_sampler_input* input, sotto_token* token,
                                          sotto_error* error);

/* The distribution that the chain leaves to the selection: the tokens still in play, in order
 * of id, and their probabilities; with temperature 0 or SOTTO_SELECT_GREEDY the most likely.
 * `*count` is set to their number, also with BUFFER_TOO_SMALL; the arrays may be NULL when
 * `capacity` is 0. */
SOTTO_API sotto_status sotto_sampler_apply(sotto_sampler* sampler, const sotto_sampler_input* input,
                                           sotto_token* tokens, float* probabilities, size_t capacity, size_t* count,
                                           sotto_error* error);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_SAMPLER_H */
