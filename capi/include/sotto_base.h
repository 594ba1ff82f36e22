/* sotto_base.h - types that all headers use: version, status, errors, memory, logging, tokens and text.
 */
/* The enums and structs below are generated from capi/params/base.toml: edit that file. */
#ifndef SOTTO_BASE_H
#define SOTTO_BASE_H

#include <stddef.h>
#include <stdint.h>

/* Declares a function of the interface. A program that includes the source file of the library defines it as
 * static. */
#if defined(SOTTO_API)
#elif defined(_WIN32) && defined(SOTTO_SHARED)
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

/* The ABI is stable within a major version. A minor version may add to it, for example by giving a
 * reserved field a name. */
#define SOTTO_VERSION_MAJOR 1
#define SOTTO_VERSION_MINOR 0
#define SOTTO_VERSION_PATCH 0
#define SOTTO_VERSION ((SOTTO_VERSION_MAJOR << 16) | (SOTTO_VERSION_MINOR << 8) | SOTTO_VERSION_PATCH)

/* Returns the version of the linked library. Compare it with SOTTO_VERSION, the version of the
 * header. */
SOTTO_API uint32_t sotto_version(void);
/* Returns the features of the linked library as words separated by spaces: full-samplers (or
 * basic-samplers), grammar, search, speculation, watermark, int4, threads, simd. The text is
 * static. A call that needs a missing feature fails with SOTTO_UNSUPPORTED (a 4-bit model with
 * SOTTO_MODEL_UNSUPPORTED), and its message names the build option. */
SOTTO_API const char* sotto_build_text(void);

/* ---- Status -------------------------------------------------------------- */

/* Result of a call. Negative values are failures, 0 is success, and positive values say why
 * generation ended. The values never change, but later versions may add new ones. */
typedef int32_t sotto_status;
enum {
  /* Success. */
  SOTTO_OK = 0,
  /* The model generated its end-of-text token. */
  SOTTO_STOP_END_OF_TEXT = 1,
  /* The token limit of the caller was reached. */
  SOTTO_STOP_MAX_TOKENS = 2,
  /* The KV ring is full, and the session uses SOTTO_OVERFLOW_STOP. */
  SOTTO_STOP_CONTEXT_FULL = 3,
  /* The text is complete: the grammar allows nothing after it, or the matcher's finish_within
   * tokens are used up. */
  SOTTO_STOP_GRAMMAR = 4,
  /* The callback returned a non-zero value. */
  SOTTO_STOP_CALLBACK = 5,
  /* sotto_session_cancel was called. */
  SOTTO_STOP_CANCELLED = 6,
  /* A token of stop_tokens was generated. */
  SOTTO_STOP_TOKEN = 7,
  /* The text contains one of stop_strings. */
  SOTTO_STOP_STRING = 8,
  /* The time limit max_time_ns has passed. */
  SOTTO_STOP_TIME = 9,
  /* The text repeats itself more than repetition_limit allows. */
  SOTTO_STOP_REPETITION = 10,
  /* Every continuation led to a banned string, or the sampler's allowed_tokens, suppressed_tokens
   * and bad_words left no token. */
  SOTTO_STOP_BANNED = 11,
  /* An argument or parameter has a value that is not allowed. */
  SOTTO_INVALID_ARGUMENT = -1,
  /* The state of the object does not allow this call. */
  SOTTO_INVALID_STATE = -2,
  /* The block of memory passed to an _init function is too small. */
  SOTTO_MEMORY_TOO_SMALL = -3,
  /* A block of memory is not aligned to SOTTO_MEMORY_ALIGNMENT. */
  SOTTO_MEMORY_MISALIGNED = -4,
  /* The capacity of an output array is too small. */
  SOTTO_BUFFER_TOO_SMALL = -5,
  /* The model file is truncated, damaged or inconsistent. */
  SOTTO_MODEL_CORRUPT = -6,
  /* The model file uses a format version or a feature that this library does not support. */
  SOTTO_MODEL_UNSUPPORTED = -7,
  /* The source of a grammar contains an error, or nothing can match the grammar. */
  SOTTO_GRAMMAR_SYNTAX = -8,
  /* The grammar requires text here that no token of the vocabulary can spell. */
  SOTTO_GRAMMAR_DEAD_END = -9,
  /* The grammar or the text exceeds the available memory, a capacity or the step budget. */
  SOTTO_GRAMMAR_TOO_LARGE = -10,
  /* This CPU or this build does not support the requested instruction set. */
  SOTTO_CPU_UNSUPPORTED = -11,
  /* The text is not valid UTF-8. */
  SOTTO_TEXT_INVALID = -12,
  /* The model file contains no tokenizer. */
  SOTTO_TOKENIZER_MISSING = -13,
  /* The worker threads could not be started. */
  SOTTO_THREADS_UNAVAILABLE = -14,
  /* A saved state is damaged or has another version. */
  SOTTO_STATE_CORRUPT = -15,
  /* The source uses a feature that cannot be translated into an exact grammar. */
  SOTTO_GRAMMAR_UNSUPPORTED = -16,
  /* A grammar image is damaged or has another version. */
  SOTTO_GRAMMAR_CORRUPT = -17,
  /* This build of the library does not include the feature. */
  SOTTO_UNSUPPORTED = -18,
  /* The tokens do not fit the context of a session that uses SOTTO_OVERFLOW_STOP. None of them was
   * evaluated. */
  SOTTO_PROMPT_TOO_LONG = -19,
  /* The library has detected a fault in itself. Please report it. */
  SOTTO_INTERNAL = -100
};

/* Returns an English description of a status. The text is static. Unknown statuses are allowed. */
SOTTO_API const char* sotto_status_text(sotto_status status);

/* Describes a failure in words. The caller owns the struct and sets struct_size; a function writes
 * it only if it fails. Every `error` parameter may be NULL. */
typedef struct sotto_error {
  uint32_t struct_size;
  /* The status that the function also returns. */
  sotto_status status;
  /* Offset of the first invalid byte of the input (a file or a text), or UINT64_MAX if the failure
   * has no offset. */
  uint64_t offset;
  /* Description of the failure as NUL-terminated UTF-8 text. */
  char message[240];
} sotto_error;

/* ---- Memory and logging --------------------------------------------------- */

/* Alignment in bytes that a model file in memory and every block passed to an _init function must
 * have. */
#define SOTTO_MEMORY_ALIGNMENT 64

/* Severity of a log message. */
typedef int32_t sotto_log_level;
enum {
  /* An operation failed. */
  SOTTO_LOG_ERROR = 1,
  /* Something was accepted but is probably a mistake. */
  SOTTO_LOG_WARNING = 2,
  /* Information about progress. */
  SOTTO_LOG_INFO = 3
};

/* Receives a log message, on the thread that called the library. `message` is NUL-terminated and
 * valid only during the call. */
typedef void (*sotto_log_fn)(void* user_data, sotto_log_level level, const char* message);

/* ---- Tokens and text ---- */

/* A token id: the index of the token in the vocabulary. */
typedef int32_t sotto_token;

/* A list of tokens. */
typedef struct sotto_token_list {
  /* The tokens. May be NULL if the count is 0. */
  const sotto_token* tokens;
  size_t count;
} sotto_token_list;

/* UTF-8 text, without a terminating NUL. */
typedef struct sotto_text {
  /* The bytes. */
  const char* text;
  size_t size;
} sotto_text;

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_BASE_H */
