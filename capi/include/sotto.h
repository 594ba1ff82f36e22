/* sotto.h - the whole public interface of the runtime, and its only specification.
 *
 * Read in this order: version, status, memory, model, tokens, session; then
 * sotto_sampler.h, sotto_session.h, sotto_search.h and sotto_grammar.h, which it includes.
 *
 * What holds for every function below:
 *   Memory   The library allocates nothing for you: an object lives in the memory
 *            you pass to its _init function, until its _deinit or until you reuse
 *            that memory. Ask the matching _memory_size first. The only things
 *            kept elsewhere are a session's worker threads and a few hundred bytes
 *            of CPU detection, all made inside an _init. After _init nothing
 *            allocates, in any mode.
 *   Pointers Never NULL unless the comment says "may be NULL".
 *   Structs  Begin with struct_size = sizeof the struct as the caller knows it;
 *            the matching _params_init writes it together with the defaults. For
 *            structs the library fills in (info, timings, error) the caller sets it.
 *   Text     UTF-8 with an explicit size in bytes; no terminator is needed.
 *   Threads  Any number of threads may read one model. A session belongs to one
 *            thread at a time; only sotto_session_cancel may be called from another.
 *   Failure  A negative status leaves outputs unwritten and objects usable as
 *            before the call, unless the comment says otherwise.
 *   Bits     Same model, prompt, parameters and seed give the same tokens and the
 *            same logits, bit for bit, on every CPU, thread count and batch size.
 */
#ifndef SOTTO_H
#define SOTTO_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(SOTTO_SHARED)
#  if defined(SOTTO_BUILD)
#    define SOTTO_API __declspec(dllexport)
#  else
#    define SOTTO_API __declspec(dllimport)
#  endif
#elif defined(__GNUC__)
#  define SOTTO_API __attribute__((visibility("default")))
#else
#  define SOTTO_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version ------------------------------------------------------------- */

/* One major version is one ABI: minor versions only add, also in place of reserved fields. */
#define SOTTO_VERSION_MAJOR 1
#define SOTTO_VERSION_MINOR 1
#define SOTTO_VERSION_PATCH 0
#define SOTTO_VERSION ((SOTTO_VERSION_MAJOR << 16) | (SOTTO_VERSION_MINOR << 8) | SOTTO_VERSION_PATCH)

/* Version of the linked library, to compare with SOTTO_VERSION of the header. */
SOTTO_API uint32_t sotto_version(void);
/* What the linked library has, static words separated by spaces: full-samplers (or basic-),
 * grammar search speculation watermark int4 threads xnnpack. What is missing is refused with
 * SOTTO_UNSUPPORTED (4-bit models: SOTTO_MODEL_UNSUPPORTED), naming the option of the build. */
SOTTO_API const char* sotto_build_text(void);

/* ---- Status -------------------------------------------------------------- */

/* Negative: failure. Zero: success. Positive: generation ended normally.
 * Values are frozen; new ones may be added. */
typedef int32_t sotto_status;
enum {
  SOTTO_OK = 0,

  SOTTO_STOP_END_OF_TEXT = 1,  /* the model produced its end-of-text token */
  SOTTO_STOP_MAX_TOKENS = 2,   /* the caller's token limit was reached */
  SOTTO_STOP_CONTEXT_FULL = 3, /* SOTTO_OVERFLOW_STOP and no slot is free */
  SOTTO_STOP_GRAMMAR = 4,      /* nothing can follow under the grammar */
  SOTTO_STOP_CALLBACK = 5,     /* the callback returned non-zero */
  SOTTO_STOP_CANCELLED = 6,    /* sotto_session_cancel was called */
  SOTTO_STOP_TOKEN = 7,        /* a token of stop_tokens */
  SOTTO_STOP_STRING = 8,       /* one of stop_strings */
  SOTTO_STOP_TIME = 9,         /* max_time_ns had passed */
  SOTTO_STOP_REPETITION = 10,  /* the text repeated itself beyond repetition_limit */
  SOTTO_STOP_BANNED = 11,      /* every way on led to a banned string */

  SOTTO_INVALID_ARGUMENT = -1,
  SOTTO_INVALID_STATE = -2, /* the call does not fit what happened before it */
  SOTTO_MEMORY_TOO_SMALL = -3,
  SOTTO_MEMORY_MISALIGNED = -4,
  SOTTO_BUFFER_TOO_SMALL = -5,
  SOTTO_MODEL_CORRUPT = -6,      /* truncated, damaged or inconsistent */
  SOTTO_MODEL_UNSUPPORTED = -7,  /* a format version or feature this library lacks */
  SOTTO_GRAMMAR_SYNTAX = -8,     /* the source is wrong, or means no text at all */
  SOTTO_GRAMMAR_DEAD_END = -9,   /* the vocabulary has no token that fits the grammar here */
  SOTTO_GRAMMAR_TOO_LARGE = -10, /* beyond the memory, the limits or the steps allowed */
  SOTTO_CPU_UNSUPPORTED = -11,   /* the instruction set asked for is not there */
  SOTTO_TEXT_INVALID = -12,      /* not UTF-8 */
  SOTTO_TOKENIZER_MISSING = -13, /* the model file holds no tokenizer */
  SOTTO_THREADS_UNAVAILABLE = -14,
  SOTTO_STATE_CORRUPT = -15,       /* a saved state is damaged or of another model */
  SOTTO_GRAMMAR_UNSUPPORTED = -16, /* something that no exact grammar is known for */
  SOTTO_GRAMMAR_CORRUPT = -17,     /* a grammar image is damaged or of another version */
  SOTTO_UNSUPPORTED = -18,         /* left out of this build of the library */
  SOTTO_INTERNAL = -100
};

/* Static English text for any status, known or not. */
SOTTO_API const char* sotto_status_text(sotto_status status);

/* Details of a failure, for people. Owned by the caller, who sets struct_size;
 * written only when the call fails. Every `error` parameter below may be NULL. */
typedef struct sotto_error {
  uint32_t struct_size;
  sotto_status status;
  uint64_t offset;   /* byte of the input (file, text) at fault; UINT64_MAX: none */
  char message[240]; /* NUL-terminated UTF-8 naming what is wrong */
} sotto_error;

/* ---- Memory and logging --------------------------------------------------- */

/* Alignment in bytes of a model file's bytes and of every block passed to an
 * _init function. */
#define SOTTO_MEMORY_ALIGNMENT 64

typedef int32_t sotto_log_level;
enum { SOTTO_LOG_ERROR = 1, SOTTO_LOG_WARNING = 2, SOTTO_LOG_INFO = 3 };

/* `message` is NUL-terminated and valid during the call only. Called on the thread
 * that is inside a library function. */
typedef void (*sotto_log_fn)(void* user_data, sotto_log_level level, const char* message);

/* ---- Model ---------------------------------------------------------------- */

typedef struct sotto_model sotto_model;

/* Instruction sets, all with the same bits. AUTO takes the best of this CPU and build; for
 * that it may ask Linux for tile registers (README, "AMX"), as AVX512AMX does. */
typedef int32_t sotto_isa;
enum {
  SOTTO_ISA_AUTO = 0,
  SOTTO_ISA_REFERENCE = 1, /* portable scalar code, the definition of all others */
  SOTTO_ISA_AVX2 = 2,      /* with FMA */
  SOTTO_ISA_AVX512 = 3,    /* F, BW, DQ, VL */
  SOTTO_ISA_AVX512VNNI = 4,
  SOTTO_ISA_NEON = 5, /* AArch64 baseline */
  SOTTO_ISA_NEON_DOTPROD = 6,
  SOTTO_ISA_NEON_I8MM = 7,
  SOTTO_ISA_AVX512AMX = 8 /* AVX512VNNI with int8 tiles, on Linux; since 1.1 */
};

/* Static name of an instruction set ("avx2"); "unknown" for other values. */
SOTTO_API const char* sotto_isa_text(sotto_isa isa);

/* Tells that _init has finished reading `size` bytes at `bytes` of the model file and will rarely
 * touch them again: a host may drop mapped pages (madvise DONTNEED). They must stay readable. */
typedef void (*sotto_release_fn)(void* user_data, const void* bytes, size_t size);

typedef struct sotto_model_params {
  uint32_t struct_size;
  sotto_isa isa;             /* default AUTO. One a process: another, but REFERENCE, is INVALID_STATE later */
  uint32_t verify_checksums; /* default 1: tensor bytes are checked while they are
                                read; 0: only the structure is verified */
  uint32_t copy_weights;     /* default 0: weights in the file as this CPU takes them stay there;
                                1: they are copied into memory, on huge pages perhaps, in pieces
                                with a `release` after each; since 1.1 */
  sotto_log_fn log;          /* may be NULL: silent */
  void* log_user_data;
  sotto_release_fn release; /* may be NULL */
  void* release_user_data;
} sotto_model_params;

typedef struct sotto_model_info {
  uint32_t struct_size;
  uint32_t vocabulary_size;
  uint32_t max_context_tokens; /* learned positions */
  uint32_t layer_count;
  uint32_t head_count;
  uint32_t embedding_size;
  uint32_t feed_forward_size;
  int32_t end_of_text_token; /* -1: none */
  uint32_t has_tokenizer;    /* 0 or 1 */
  uint32_t max_token_bytes;  /* longest token; 0 without tokenizer */
  sotto_isa isa;             /* the one in use */
  uint32_t packed_in_place;  /* 1: all weights run from the file, those of 8 bits from its section
                                packed for this CPU; 0 with copy_weights */
  uint64_t parameter_count;
  uint64_t weight_bytes;      /* read for each decoded token */
  uint64_t vocabulary_bytes;  /* of the file's vocabulary prepared for grammars; 0: it is made
                                 in memory (sotto_vocabulary_init) */
  uint32_t layer_weight_bits; /* 8, or 4 where no layer's weights have more */
  uint32_t head_weight_bits;  /* 8 or 4: of the head and, if they are one, the embeddings */
} sotto_model_info;

/* Fills the defaults; pass sizeof(*params) so that older callers stay valid. The
 * _memory_size and _init functions also take NULL for them. */
SOTTO_API void sotto_model_params_init(sotto_model_params* params, size_t params_size);

/* Bytes of memory sotto_model_init needs for this file and these parameters.
 * Verifies the file's structure. `file` must be aligned to SOTTO_MEMORY_ALIGNMENT.
 * Errors: MODEL_CORRUPT, MODEL_UNSUPPORTED, MEMORY_MISALIGNED, CPU_UNSUPPORTED,
 * INVALID_ARGUMENT, INVALID_STATE (isa). */
SOTTO_API sotto_status sotto_model_memory_size(const void* file, size_t file_size, const sotto_model_params* params,
                                               size_t* memory_size, sotto_error* error);

/* Builds a model in `memory`. `file` and `memory` must outlive the model; `file` is
 * used in place and never written. `params` is copied. Weights of 4 bits are used from
 * the file; those of 8 bits, too, if it holds a section packed for this CPU, and are
 * packed into `memory` otherwise. Errors: as above, and MEMORY_TOO_SMALL. */
SOTTO_API sotto_status sotto_model_init(const void* file, size_t file_size, const sotto_model_params* params,
                                        void* memory, size_t memory_size, sotto_model** model, sotto_error* error);

/* `model` may be NULL. Sessions of the model must be gone. */
SOTTO_API void sotto_model_deinit(sotto_model* model);

SOTTO_API sotto_status sotto_model_get_info(const sotto_model* model, sotto_model_info* info);

/* ---- Tokens --------------------------------------------------------------- */

typedef int32_t sotto_token;

/* Tokens of the caller. `tokens` may be NULL when `count` is 0. */
typedef struct sotto_token_list {
  const sotto_token* tokens;
  size_t count;
} sotto_token_list;

/* Text of the caller, not terminated. */
typedef struct sotto_text {
  const char* text;
  size_t size; /* bytes */
} sotto_text;

/* Flags of sotto_tokenize. */
enum {
  SOTTO_TOKENIZE_SPECIAL = 1 /* text such as <|endoftext|> becomes its special token */
};

/* Encodes text with the model's byte-level BPE. At most one token a byte is written
 * (two for the rare vocabulary that puts a space before text).
 * `*count` is set to the tokens written, or, with SOTTO_BUFFER_TOO_SMALL, to a
 * capacity that suffices: never above that bound, and more than the final count only
 * for texts with words over 256 bytes, whose search may need a token a byte.
 * `tokens` may be NULL when `capacity` is 0. Time is near-linear in text_size.
 * Errors: TEXT_INVALID (error->offset: the byte), TOKENIZER_MISSING,
 * BUFFER_TOO_SMALL, INVALID_ARGUMENT (flags, or a byte the vocabulary lacks:
 * error->offset). */
SOTTO_API sotto_status sotto_tokenize(const sotto_model* model, const char* text, size_t text_size, uint32_t flags,
                                      sotto_token* tokens, size_t capacity, size_t* count, sotto_error* error);

/* The bytes of one token, owned by the model. They may begin or end inside a
 * character. Errors: INVALID_ARGUMENT (no such token), TOKENIZER_MISSING. */
SOTTO_API sotto_status sotto_token_bytes(const sotto_model* model, sotto_token token, const char** bytes, size_t* size);

/* The bytes of many tokens, one after the other; exactly what was encoded. `*size` is
 * set to the bytes needed, also with SOTTO_BUFFER_TOO_SMALL; `bytes` may be NULL when
 * `capacity` is 0. */
SOTTO_API sotto_status sotto_detokenize(const sotto_model* model, const sotto_token* tokens, size_t count, char* bytes,
                                        size_t capacity, size_t* size);

/* ---- Session -------------------------------------------------------------- */

typedef struct sotto_session sotto_session;

/* What happens when the KV ring is full. C = context_tokens, S = sink_tokens. */
typedef int32_t sotto_overflow;
enum {
  /* End with SOTTO_STOP_CONTEXT_FULL. */
  SOTTO_OVERFLOW_STOP = 0,
  /* The first S tokens stay, the oldest other token is overwritten, and positions go
   * on increasing. At the last learned position the ring re-anchors: the sinks and the
   * newest tokens, C/2 together, are evaluated again from position 0. */
  SOTTO_OVERFLOW_RING = 1,
  /* The sinks and the newer half of the rest, (C-S)/2 tokens, are evaluated again from
   * position 0. Exact with respect to the kept text. */
  SOTTO_OVERFLOW_SHIFT = 2
};

/* Threads lent by the host. `num_threads` tells how many tasks can run at once beside
 * the caller; `schedule` must run task(context) on another thread, soon. Both are
 * called from the session's thread, and the executor must outlive the session. */
typedef struct sotto_executor {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t (*num_threads)(void* executor_context);
  void (*schedule)(void* executor_context, void* context, void (*task)(void* context));
  void* executor_context;
} sotto_executor;

/* What needs memory of its own. */
enum {
  SOTTO_FEATURE_HIDDEN_HISTORY = 1, /* contrastive search: embedding_size floats a slot */
  SOTTO_FEATURE_DOLA = 2,           /* layers against layers */
  SOTTO_FEATURE_GUIDE = 4           /* sotto_session_set_guide */
};

typedef struct sotto_session_params {
  uint32_t struct_size;
  uint32_t context_tokens;        /* slots of the KV ring, 16 ... the model's maximum (a model
                                     with fewer positions: exactly these); default 0: the maximum */
  uint32_t batch_tokens;          /* most tokens evaluated at once in a prefill, 1 ... 4096;
                                     default 128; never above context_tokens */
  uint32_t thread_count;          /* 1 ... 64; default 1: everything runs on the calling thread */
  sotto_overflow overflow;        /* default STOP */
  uint32_t sink_tokens;           /* RING, SHIFT: 0 ... context_tokens/4. The default UINT32_MAX
                                     stands for 4, or context_tokens/4 if that is less; 0 with
                                     STOP, where no other value is allowed */
  const sotto_executor* executor; /* default NULL: the session makes its own threads */
  uint32_t sequence_count;        /* most sequences of sotto_session_search, at most 64; default 0: no
                                     memory for searches */
  uint32_t sequence_tokens;       /* most new tokens of each; default 0: none, and 128 where
                                     sequence_count is not 0; at most the model's maximum */
  uint32_t features;              /* SOTTO_FEATURE_ bits; default 0 */
  uint32_t list_bytes;            /* room for the lists of a sampler, and as much for those of the
                                     stops; default 16384; at most 2^24 */
  uint32_t draft_tokens;          /* most tokens evaluated ahead of the stream (sotto_speculation.h), at
                                     most 15; default 0: no memory for speculation */
  uint32_t reserved;
} sotto_session_params;

typedef struct sotto_session_info {
  uint32_t struct_size;
  uint32_t context_tokens;
  uint32_t batch_tokens;
  uint32_t thread_count;
  uint32_t sink_tokens;
  uint32_t cached_tokens;  /* tokens whose keys and values are in the ring */
  uint64_t token_count;    /* tokens of the stream since init or reset */
  uint64_t reanchor_count; /* times the ring was evaluated again */
  uint64_t kv_bytes;       /* of the memory passed to _init */
  uint64_t memory_bytes;
} sotto_session_info;

/* Wall-clock nanoseconds since init or sotto_session_reset_timings. */
typedef struct sotto_session_timings {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t prefill_tokens;
  uint64_t prefill_ns;
  uint64_t decode_tokens; /* evaluated one at a time by next and generate */
  uint64_t decode_ns;
  uint64_t sample_count;
  uint64_t sample_ns;       /* masks of grammars, stages, the draw */
  uint64_t reanchor_tokens; /* evaluated again by RING and SHIFT */
  uint64_t reanchor_ns;     /* also part of prefill_ns or decode_ns */
} sotto_session_timings;

/* A token that could have come. */
typedef struct sotto_alternative {
  sotto_token token;
  float log_probability; /* ln p under the model */
} sotto_alternative;

/* One generated token. Owned by the session, valid until its next call. */
typedef struct sotto_piece {
  const char* text; /* whole UTF-8 characters only, may be empty: bytes that begin a
                       character are held back until it is complete, and text that may
                       begin a stop string until that is settled; bytes that can never be a
                       character become U+FFFD */
  size_t text_size;
  sotto_token token;             /* -1: no token, only text that had been held back */
  float log_probability;         /* ln p under the model; NaN unless asked for */
  float sampled_log_probability; /* ln p after the sampler's chain; NaN unless asked for */
  uint32_t alternative_count;
  const sotto_alternative* alternatives; /* the likeliest under the model, best first */
  const char* bytes;                     /* the token's own, raw */
  size_t byte_count;
  uint64_t elapsed_ns; /* from the call that began this token to its end */
} sotto_piece;

/* Return 0 to go on, anything else to stop. Runs on the caller's thread. */
typedef int32_t (*sotto_piece_fn)(void* user_data, const sotto_piece* piece);

SOTTO_API void sotto_session_params_init(sotto_session_params* params, size_t params_size);

/* Bytes sotto_session_init needs. Depends on the model's shape and these parameters
 * only, not on the CPU; sotto_memory.h computes the same figure at compile time.
 * Errors: INVALID_ARGUMENT naming the parameter. */
SOTTO_API sotto_status sotto_session_memory_size(const sotto_model* model, const sotto_session_params* params,
                                                 size_t* memory_size, sotto_error* error);

/* Builds a session in `memory`; `model`, `memory` and the executor must outlive it.
 * Errors: as above, MEMORY_TOO_SMALL, MEMORY_MISALIGNED, THREADS_UNAVAILABLE. */
SOTTO_API sotto_status sotto_session_init(const sotto_model* model, const sotto_session_params* params, void* memory,
                                          size_t memory_size, sotto_session** session, sotto_error* error);

/* Ends the session's threads. `session` may be NULL. */
SOTTO_API void sotto_session_deinit(sotto_session* session);

/* Forgets all tokens and rewinds the sampler to its seed; the parameters stay. */
SOTTO_API void sotto_session_reset(sotto_session* session);

/* Evaluates prompt tokens after those already there. On SOTTO_STOP_CANCELLED and
 * SOTTO_STOP_CONTEXT_FULL the tokens that were evaluated stay; token_count of
 * sotto_session_get_info tells how many. A prompt that cannot fit
 * (SOTTO_OVERFLOW_STOP) is refused whole with SOTTO_STOP_CONTEXT_FULL.
 * Errors: INVALID_ARGUMENT (a token outside the vocabulary; nothing is evaluated). */
SOTTO_API sotto_status sotto_session_prefill(sotto_session* session, const sotto_token* tokens, size_t count);

/* Generates one token: SOTTO_OK and `*piece`. At a stop the reason is returned, and
 * `*piece` has token -1 and whatever text was still held back. The token that ends a
 * text is not part of the stream. Errors: INVALID_STATE (nothing was prefilled). */
SOTTO_API sotto_status sotto_session_next(sotto_session* session, const sotto_piece** piece);

/* Prefills, then calls `on_piece` for each token until a stop, or for max_tokens
 * tokens (0: none). Exactly the loop one would write over sotto_session_next.
 * Returns the SOTTO_STOP_ reason or an error. `prompt` may be NULL when
 * `prompt_count` is 0; `on_piece` may be NULL. */
SOTTO_API sotto_status sotto_session_generate(sotto_session* session, const sotto_token* prompt, size_t prompt_count,
                                              size_t max_tokens, sotto_piece_fn on_piece, void* user_data);

/* Logits after the last token, before the sampler: vocabulary_size floats, valid until
 * the session's next call. Evaluates the token generated last if that is still to be done; where
 * it cannot, SOTTO_STOP_CONTEXT_FULL or _CANCELLED. Errors: INVALID_STATE (no tokens). */
SOTTO_API sotto_status sotto_session_logits(sotto_session* session, const float** logits, size_t* count);

/* Makes the stream end after its first `token_count` tokens, as if the rest had never
 * been evaluated, the sampler's random numbers included. Costs nothing now; the last
 * kept token is evaluated again when logits are next needed.
 * Errors: INVALID_ARGUMENT (beyond the end), INVALID_STATE (the ring no longer holds
 * what those tokens had seen: it has overwritten or re-anchored since). */
SOTTO_API sotto_status sotto_session_rewind(sotto_session* session, uint64_t token_count);

/* Makes the running call, or the next one if none runs, stop with
 * SOTTO_STOP_CANCELLED. Any thread, also a signal handler. */
SOTTO_API void sotto_session_cancel(sotto_session* session);

SOTTO_API sotto_status sotto_session_get_info(const sotto_session* session, sotto_session_info* info);
SOTTO_API sotto_status sotto_session_get_timings(const sotto_session* session, sotto_session_timings* timings);
SOTTO_API void sotto_session_reset_timings(sotto_session* session);

#ifdef __cplusplus
}
#endif

#include "sotto_grammar.h"
#include "sotto_sampler.h"
#include "sotto_search.h"
#include "sotto_session.h"
#include "sotto_speculation.h"

#endif /* SOTTO_H */
