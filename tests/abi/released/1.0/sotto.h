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
#define SOTTO_VERSION_MAJOR 1
#define SOTTO_VERSION_MINOR 1
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
enum { SOTTO_LOG_ERROR = 1, SOTTO_LOG_WARNING = 2, SOTTO_LOG_INFO = 3 };
typedef void (*sotto_log_fn)(void* user_data, sotto_log_level level, const char* message);
typedef struct sotto_model sotto_model;
typedef int32_t sotto_isa;
enum {
  SOTTO_ISA_AUTO = 0,
  SOTTO_ISA_REFERENCE = 1,
  SOTTO_ISA_AVX2 = 2,
  SOTTO_ISA_AVX512 = 3,
  SOTTO_ISA_AVX512VNNI = 4,
  SOTTO_ISA_NEON = 5,
  SOTTO_ISA_NEON_DOTPROD = 6,
  SOTTO_ISA_NEON_I8MM = 7,
  SOTTO_ISA_AVX512AMX = 8
};
SOTTO_API const char* sotto_isa_text(sotto_isa isa);
typedef void (*sotto_release_fn)(void* user_data, const void* bytes, size_t size);
typedef struct sotto_model_params {
  uint32_t struct_size;
  sotto_isa isa;
  uint32_t verify_checksums;
  uint32_t copy_weights;
  sotto_log_fn log;
  void* log_user_data;
  sotto_release_fn release;
  void* release_user_data;
} sotto_model_params;
typedef struct sotto_model_info {
  uint32_t struct_size;
  uint32_t vocabulary_size;
  uint32_t max_context_tokens;
  uint32_t layer_count;
  uint32_t head_count;
  uint32_t embedding_size;
  uint32_t feed_forward_size;
  int32_t end_of_text_token;
  uint32_t has_tokenizer;
  uint32_t max_token_bytes;
  sotto_isa isa;
  uint32_t packed_in_place;
  uint64_t parameter_count;
  uint64_t weight_bytes;
  uint64_t vocabulary_bytes;
  uint32_t layer_weight_bits;
  uint32_t head_weight_bits;
} sotto_model_info;
SOTTO_API void sotto_model_params_init(sotto_model_params* params, size_t params_size);
SOTTO_API sotto_status sotto_model_memory_size(const void* file, size_t file_size, const sotto_model_params* params,
                                               size_t* memory_size, sotto_error* error);
SOTTO_API sotto_status sotto_model_init(const void* file, size_t file_size, const sotto_model_params* params,
                                        void* memory, size_t memory_size, sotto_model** model, sotto_error* error);
SOTTO_API void sotto_model_deinit(sotto_model* model);
SOTTO_API sotto_status sotto_model_get_info(const sotto_model* model, sotto_model_info* info);
typedef int32_t sotto_token;
typedef struct sotto_token_list {
  const sotto_token* tokens;
  size_t count;
} sotto_token_list;
typedef struct sotto_text {
  const char* text;
  size_t size;
} sotto_text;
enum {
  SOTTO_TOKENIZE_SPECIAL = 1
};
SOTTO_API sotto_status sotto_tokenize(const sotto_model* model, const char* text, size_t text_size, uint32_t flags,
                                      sotto_token* tokens, size_t capacity, size_t* count, sotto_error* error);
SOTTO_API sotto_status sotto_token_bytes(const sotto_model* model, sotto_token token, const char** bytes, size_t* size);
SOTTO_API sotto_status sotto_detokenize(const sotto_model* model, const sotto_token* tokens, size_t count, char* bytes,
                                        size_t capacity, size_t* size);
typedef struct sotto_session sotto_session;
typedef int32_t sotto_overflow;
enum {
  SOTTO_OVERFLOW_STOP = 0,
  SOTTO_OVERFLOW_RING = 1,
  SOTTO_OVERFLOW_SHIFT = 2
};
typedef struct sotto_executor {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t (*num_threads)(void* executor_context);
  void (*schedule)(void* executor_context, void* context, void (*task)(void* context));
  void* executor_context;
} sotto_executor;
enum {
  SOTTO_FEATURE_HIDDEN_HISTORY = 1,
  SOTTO_FEATURE_DOLA = 2,
  SOTTO_FEATURE_GUIDE = 4
};
typedef struct sotto_session_params {
  uint32_t struct_size;
  uint32_t context_tokens;
  uint32_t batch_tokens;
  uint32_t thread_count;
  sotto_overflow overflow;
  uint32_t sink_tokens;
  const sotto_executor* executor;
  uint32_t sequence_count;
  uint32_t sequence_tokens;
  uint32_t features;
  uint32_t list_bytes;
  uint32_t draft_tokens;
  uint32_t reserved;
} sotto_session_params;
typedef struct sotto_session_info {
  uint32_t struct_size;
  uint32_t context_tokens;
  uint32_t batch_tokens;
  uint32_t thread_count;
  uint32_t sink_tokens;
  uint32_t cached_tokens;
  uint64_t token_count;
  uint64_t reanchor_count;
  uint64_t kv_bytes;
  uint64_t memory_bytes;
} sotto_session_info;
typedef struct sotto_session_timings {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t prefill_tokens;
  uint64_t prefill_ns;
  uint64_t decode_tokens;
  uint64_t decode_ns;
  uint64_t sample_count;
  uint64_t sample_ns;
  uint64_t reanchor_tokens;
  uint64_t reanchor_ns;
} sotto_session_timings;
typedef struct sotto_alternative {
  sotto_token token;
  float log_probability;
} sotto_alternative;
typedef struct sotto_piece {
  const char* text;
  size_t text_size;
  sotto_token token;
  float log_probability;
  float sampled_log_probability;
  uint32_t alternative_count;
  const sotto_alternative* alternatives;
  const char* bytes;
  size_t byte_count;
  uint64_t elapsed_ns;
} sotto_piece;
typedef int32_t (*sotto_piece_fn)(void* user_data, const sotto_piece* piece);
SOTTO_API void sotto_session_params_init(sotto_session_params* params, size_t params_size);
SOTTO_API sotto_status sotto_session_memory_size(const sotto_model* model, const sotto_session_params* params,
                                                 size_t* memory_size, sotto_error* error);
SOTTO_API sotto_status sotto_session_init(const sotto_model* model, const sotto_session_params* params, void* memory,
                                          size_t memory_size, sotto_session** session, sotto_error* error);
SOTTO_API void sotto_session_deinit(sotto_session* session);
SOTTO_API void sotto_session_reset(sotto_session* session);
SOTTO_API sotto_status sotto_session_prefill(sotto_session* session, const sotto_token* tokens, size_t count);
SOTTO_API sotto_status sotto_session_next(sotto_session* session, const sotto_piece** piece);
SOTTO_API sotto_status sotto_session_generate(sotto_session* session, const sotto_token* prompt, size_t prompt_count,
                                              size_t max_tokens, sotto_piece_fn on_piece, void* user_data);
SOTTO_API sotto_status sotto_session_logits(sotto_session* session, const float** logits, size_t* count);
SOTTO_API sotto_status sotto_session_rewind(sotto_session* session, uint64_t token_count);
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
#endif
