#ifndef SOTTO_MODEL_H
#define SOTTO_MODEL_H
#include "sotto_base.h"
#ifdef __cplusplus
extern "C" {
#endif
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
  uint32_t end_of_text_count;
  uint32_t has_tokenizer;
  uint32_t max_token_bytes;
  sotto_isa isa;
  uint64_t parameter_count;
  uint64_t weight_bytes;
  uint64_t vocabulary_bytes;
  uint32_t layer_weight_bits;
  uint32_t head_weight_bits;
  uint32_t packed_in_place;
  float default_temperature;
  uint32_t default_top_k;
  float default_top_p;
  float default_min_p;
  float default_typical_p;
  float default_repetition_penalty;
  uint32_t default_repetition_window;
  uint32_t default_no_repeat_ngram;
} sotto_model_info;
SOTTO_API void sotto_model_params_init(sotto_model_params* params, size_t params_size);
SOTTO_API sotto_status sotto_model_memory_size(const void* file, size_t file_size, const sotto_model_params* params,
                                               size_t* memory_size, sotto_error* error);
SOTTO_API sotto_status sotto_model_init(const void* file, size_t file_size, const sotto_model_params* params,
                                        void* memory, size_t memory_size, sotto_model** model, sotto_error* error);
SOTTO_API void sotto_model_deinit(sotto_model* model);
SOTTO_API sotto_status sotto_model_get_info(const sotto_model* model, sotto_model_info* info);
typedef int32_t sotto_model_text_kind;
enum {
  SOTTO_MODEL_TEXT_NAME = 0,
  SOTTO_MODEL_TEXT_SOURCE = 1,
  SOTTO_MODEL_TEXT_LICENSE = 2,
  SOTTO_MODEL_TEXT_CHAT_TEMPLATE = 3
};
SOTTO_API sotto_status sotto_model_text(const sotto_model* model, sotto_model_text_kind kind, const char** text,
                                        size_t* size);
enum {
  SOTTO_TOKENIZE_SPECIAL = 1
};
enum {
  SOTTO_TOKEN_ADDED = 1,
  SOTTO_TOKEN_SPECIAL = 2,
  SOTTO_TOKEN_UNUSED = 4,
  SOTTO_TOKEN_END_OF_TEXT = 8
};
SOTTO_API sotto_status sotto_tokenize(const sotto_model* model, const char* text, size_t text_size, uint32_t flags,
                                      sotto_token* tokens, size_t capacity, size_t* count, sotto_error* error);
SOTTO_API sotto_status sotto_token_bytes(const sotto_model* model, sotto_token token, const char** bytes, size_t* size);
SOTTO_API sotto_status sotto_token_flags(const sotto_model* model, sotto_token token, uint32_t* flags);
SOTTO_API sotto_status sotto_detokenize(const sotto_model* model, const sotto_token* tokens, size_t count, char* bytes,
                                        size_t capacity, size_t* size);
#ifdef __cplusplus
}
#endif
#endif
