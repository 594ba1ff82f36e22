#ifndef SOTTO_BASE_H
#define SOTTO_BASE_H
#include <stddef.h>
#include <stdint.h>
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
#define SOTTO_VERSION_MAJOR 1
#define SOTTO_VERSION_MINOR 0
#define SOTTO_VERSION_PATCH 0
#define SOTTO_VERSION ((SOTTO_VERSION_MAJOR << 16) | (SOTTO_VERSION_MINOR << 8) | SOTTO_VERSION_PATCH)
SOTTO_API uint32_t sotto_version(void);
SOTTO_API const char* sotto_build_text(void);
typedef int32_t sotto_status;
enum {
  SOTTO_OK = 0,
  SOTTO_STOP_END_OF_TEXT = 1,
  SOTTO_STOP_MAX_TOKENS = 2,
  SOTTO_STOP_CONTEXT_FULL = 3,
  SOTTO_STOP_GRAMMAR = 4,
  SOTTO_STOP_CALLBACK = 5,
  SOTTO_STOP_CANCELLED = 6,
  SOTTO_STOP_TOKEN = 7,
  SOTTO_STOP_STRING = 8,
  SOTTO_STOP_TIME = 9,
  SOTTO_STOP_REPETITION = 10,
  SOTTO_STOP_BANNED = 11,
  SOTTO_INVALID_ARGUMENT = -1,
  SOTTO_INVALID_STATE = -2,
  SOTTO_MEMORY_TOO_SMALL = -3,
  SOTTO_MEMORY_MISALIGNED = -4,
  SOTTO_BUFFER_TOO_SMALL = -5,
  SOTTO_MODEL_CORRUPT = -6,
  SOTTO_MODEL_UNSUPPORTED = -7,
  SOTTO_GRAMMAR_SYNTAX = -8,
  SOTTO_GRAMMAR_DEAD_END = -9,
  SOTTO_GRAMMAR_TOO_LARGE = -10,
  SOTTO_CPU_UNSUPPORTED = -11,
  SOTTO_TEXT_INVALID = -12,
  SOTTO_TOKENIZER_MISSING = -13,
  SOTTO_THREADS_UNAVAILABLE = -14,
  SOTTO_STATE_CORRUPT = -15,
  SOTTO_GRAMMAR_UNSUPPORTED = -16,
  SOTTO_GRAMMAR_CORRUPT = -17,
  SOTTO_UNSUPPORTED = -18,
  SOTTO_PROMPT_TOO_LONG = -19,
  SOTTO_INTERNAL = -100
};
SOTTO_API const char* sotto_status_text(sotto_status status);
typedef struct sotto_error {
  uint32_t struct_size;
  sotto_status status;
  uint64_t offset;
  char message[240];
} sotto_error;
#define SOTTO_MEMORY_ALIGNMENT 64
typedef int32_t sotto_log_level;
enum {
  SOTTO_LOG_ERROR = 1,
  SOTTO_LOG_WARNING = 2,
  SOTTO_LOG_INFO = 3
};
typedef void (*sotto_log_fn)(void* user_data, sotto_log_level level, const char* message);
typedef int32_t sotto_token;
typedef struct sotto_token_list {
  const sotto_token* tokens;
  size_t count;
} sotto_token_list;
typedef struct sotto_text {
  const char* text;
  size_t size;
} sotto_text;
#ifdef __cplusplus
}
#endif
#endif
