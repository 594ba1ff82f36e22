/* sotto_base.h - what all headers share: version, status, errors, memory, logging, tokens and text.
 */
#ifndef SOTTO_BASE_H
#define SOTTO_BASE_H

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

/* A major version is one ABI. Minor versions only add to it, which includes names for reserved
 * fields. */
#define SOTTO_VERSION_MAJOR 1
#define SOTTO_VERSION_MINOR 0
#define SOTTO_VERSION_PATCH 0
#define SOTTO_VERSION ((SOTTO_VERSION_MAJOR << 16) | (SOTTO_VERSION_MINOR << 8) | SOTTO_VERSION_PATCH)

/* Returns the version of the linked library, to compare with SOTTO_VERSION of the header. */
SOTTO_API uint32_t sotto_version(void);
/* Returns the features of the linked library as static text, words separated by spaces:
 * full-samplers (or basic-samplers), grammar, search, speculation, watermark, int4, threads,
 * simd. Calls that need a missing feature fail with SOTTO_UNSUPPORTED (4-bit models:
 * SOTTO_MODEL_UNSUPPORTED) and name the option of the build. */
SOTTO_API const char* sotto_build_text(void);

/* ---- Status -------------------------------------------------------------- */

/* Result of a call. Negative values are failures, 0 is success, and positive values mean that
 * generation ended normally. Values never change. New ones may be added. */
typedef int32_t sotto_status;
enum {
  /* Success. */
  SOTTO_OK = 0,
  /* The model generated its end-of-text token. */
  SOTTO_STOP_END_OF_TEXT = 1,
  /* The caller's token limit was reached. */
  SOTTO_STOP_MAX_TOKENS = 2,
  /* No slot of the KV ring is free, and the session has SOTTO_OVERFLOW_STOP. */
  SOTTO_STOP_CONTEXT_FULL = 3,
  /* Nothing can follow under the grammar. */
  SOTTO_STOP_GRAMMAR = 4,
  /* The callback returned a non-zero value. */
  SOTTO_STOP_CALLBACK = 5,
  /* sotto_session_cancel was called. */
  SOTTO_STOP_CANCELLED = 6,
  /* A token of stop_tokens was generated. */
  SOTTO_STOP_TOKEN = 7,
  /* One of stop_strings was generated. */
  SOTTO_STOP_STRING = 8,
  /* max_time_ns has passed. */
  SOTTO_STOP_TIME = 9,
  /* The text exceeded repetition_limit. */
  SOTTO_STOP_REPETITION = 10,
  /* Every continuation led to a banned string. */
  SOTTO_STOP_BANNED = 11,
  /* An argument or parameter has a value that is not allowed. */
  SOTTO_INVALID_ARGUMENT = -1,
  /* The call is not possible after the calls before it. */
  SOTTO_INVALID_STATE = -2,
  /* The memory passed to an _init function is too small. */
  SOTTO_MEMORY_TOO_SMALL = -3,
  /* A block of memory is not aligned to SOTTO_MEMORY_ALIGNMENT. */
  SOTTO_MEMORY_MISALIGNED = -4,
  /* The capacity of an output array is too small. */
  SOTTO_BUFFER_TOO_SMALL = -5,
  /* The model file is truncated, damaged or inconsistent. */
  SOTTO_MODEL_CORRUPT = -6,
  /* The model file has a format version or feature that this library lacks. */
  SOTTO_MODEL_UNSUPPORTED = -7,
  /* The source of a grammar has an error, or matches no text. */
  SOTTO_GRAMMAR_SYNTAX = -8,
  /* The vocabulary has no token that fits the grammar at this place. */
  SOTTO_GRAMMAR_DEAD_END = -9,
  /* The memory, the limits or the step budget do not suffice. */
  SOTTO_GRAMMAR_TOO_LARGE = -10,
  /* The requested instruction set is not available. */
  SOTTO_CPU_UNSUPPORTED = -11,
  /* The text is not UTF-8. */
  SOTTO_TEXT_INVALID = -12,
  /* The model file holds no tokenizer. */
  SOTTO_TOKENIZER_MISSING = -13,
  /* The worker threads could not be started. */
  SOTTO_THREADS_UNAVAILABLE = -14,
  /* A saved state is damaged, or belongs to another model. */
  SOTTO_STATE_CORRUPT = -15,
  /* The source uses a feature for which no exact grammar is known. */
  SOTTO_GRAMMAR_UNSUPPORTED = -16,
  /* A grammar image is damaged or of another version. */
  SOTTO_GRAMMAR_CORRUPT = -17,
  /* The feature is not part of this build of the library. */
  SOTTO_UNSUPPORTED = -18,
  /* The tokens do not fit the context of a session with SOTTO_OVERFLOW_STOP. Nothing was evaluated. */
  SOTTO_PROMPT_TOO_LONG = -19,
  /* An error of the library itself. */
  SOTTO_INTERNAL = -100
};

/* Returns a static English text for any status, known or not. */
SOTTO_API const char* sotto_status_text(sotto_status status);

/* Details of a failure for people. The caller owns it and sets struct_size. It is written only if
 * the call fails. Every `error` parameter of a function may be NULL. */
typedef struct sotto_error {
  uint32_t struct_size;
  /* The status that the function returns. */
  sotto_status status;
  /* Offset of the faulty byte in the input (file or text), or UINT64_MAX if there is none. */
  uint64_t offset;
  /* NUL-terminated UTF-8 text that describes the failure. */
  char message[240];
} sotto_error;

/* ---- Memory and logging --------------------------------------------------- */

/* Required alignment, in bytes, of a model file's bytes and of every block passed to an _init
 * function. */
#define SOTTO_MEMORY_ALIGNMENT 64

/* How important a log message is. */
typedef int32_t sotto_log_level;
enum {
  /* Something failed. */
  SOTTO_LOG_ERROR = 1,
  /* Something is probably unintended. */
  SOTTO_LOG_WARNING = 2,
  /* Progress. */
  SOTTO_LOG_INFO = 3
};

/* Receives a message, which is NUL-terminated and valid only during the call. It is called on the
 * thread that is inside a library function. */
typedef void (*sotto_log_fn)(void* user_data, sotto_log_level level, const char* message);

/* ---- Tokens and text ---- */

/* Id of a token, which is its index in the vocabulary. */
typedef int32_t sotto_token;

/* A list of tokens. */
typedef struct sotto_token_list {
  /* The tokens. May be NULL if the count is 0. */
  const sotto_token* tokens;
  size_t count;
} sotto_token_list;

/* UTF-8 text without a terminator. */
typedef struct sotto_text {
  /* The bytes. */
  const char* text;
  size_t size;
} sotto_text;

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_BASE_H */
