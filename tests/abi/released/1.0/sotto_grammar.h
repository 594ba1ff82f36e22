#ifndef SOTTO_GRAMMAR_H
#define SOTTO_GRAMMAR_H
#include "sotto_session.h"
#ifdef __cplusplus
extern "C" {
#endif
typedef struct sotto_vocabulary sotto_vocabulary;
typedef struct sotto_vocabulary_params {
  uint32_t struct_size;
  uint32_t token_count;
  const sotto_model* model;
  const char* bytes;
  const uint32_t* offsets;
  const uint8_t* special;
  const sotto_token* end_tokens;
  size_t end_token_count;
} sotto_vocabulary_params;
SOTTO_API void sotto_vocabulary_params_init(sotto_vocabulary_params* params, size_t params_size);
SOTTO_API sotto_status sotto_vocabulary_memory_size(const sotto_vocabulary_params* params, size_t* memory_size,
                                                    sotto_error* error);
SOTTO_API sotto_status sotto_vocabulary_init(const sotto_vocabulary_params* params, void* memory, size_t memory_size,
                                             sotto_vocabulary** vocabulary, sotto_error* error);
typedef struct sotto_grammar sotto_grammar;
typedef int32_t sotto_grammar_language;
enum {
  SOTTO_GRAMMAR_GBNF = 0,
  SOTTO_GRAMMAR_JSON_SCHEMA = 1,
  SOTTO_GRAMMAR_REGEX = 2,
  SOTTO_GRAMMAR_JSON = 3,
  SOTTO_GRAMMAR_JSON_OBJECT = 4,
  SOTTO_GRAMMAR_CHOICES = 5,
  SOTTO_GRAMMAR_NUMBER = 6,
  SOTTO_GRAMMAR_TOOLS = 7
};
typedef int32_t sotto_json_space;
enum {
  SOTTO_JSON_FLEXIBLE = 0,
  SOTTO_JSON_COMPACT = 1,
  SOTTO_JSON_ONE_SPACE = 2
};
typedef struct sotto_grammar_params {
  uint32_t struct_size;
  sotto_grammar_language language;
  sotto_text root;
  const sotto_vocabulary* vocabulary;
  sotto_log_fn log;
  void* log_user_data;
  const sotto_text* triggers;
  size_t trigger_count;
  const sotto_token* trigger_tokens;
  size_t trigger_token_count;
  sotto_json_space json_space;
  uint32_t max_space;
  uint32_t allow_surrounding_whitespace;
  uint32_t max_digits;
  uint32_t max_string_length;
  uint32_t schema_draft;
  uint32_t assert_formats;
  uint32_t forbid_additional;
  uint32_t assume_distinct_names;
  uint32_t schema_order;
  uint32_t parallel_tool_calls;
} sotto_grammar_params;
SOTTO_API void sotto_grammar_params_init(sotto_grammar_params* params, size_t params_size);
SOTTO_API size_t sotto_grammar_typical_memory(size_t source_size);
SOTTO_API sotto_status sotto_grammar_compile(const char* source, size_t source_size, const sotto_grammar_params* params,
                                             void* memory, size_t memory_size, sotto_grammar** grammar,
                                             size_t* grammar_size, sotto_error* error);
SOTTO_API sotto_status sotto_grammar_save(const sotto_grammar* grammar, void* image, size_t capacity, size_t* size);
SOTTO_API sotto_status sotto_grammar_load(const void* image, size_t image_size, const sotto_grammar** grammar,
                                          sotto_error* error);
typedef struct sotto_matcher sotto_matcher;
typedef struct sotto_matcher_params {
  uint32_t struct_size;
  uint32_t sequence_count;
  uint32_t rollback_count;
  uint32_t finish_within;
  uint64_t step_budget;
  uint32_t node_count;
  uint32_t frame_count;
  uint32_t state_set_count;
  uint32_t state_count;
  uint32_t visit_count;
  uint32_t mask_bytes;
} sotto_matcher_params;
typedef struct sotto_matcher_info {
  uint32_t struct_size;
  uint32_t may_end;
  uint32_t must_end;
  uint32_t reserved;
  uint64_t token_count;
} sotto_matcher_info;
SOTTO_API void sotto_matcher_params_init(sotto_matcher_params* params, size_t params_size);
SOTTO_API sotto_status sotto_matcher_memory_size(const sotto_grammar* grammar, const sotto_vocabulary* vocabulary,
                                                 const sotto_matcher_params* params, size_t* memory_size,
                                                 sotto_error* error);
SOTTO_API sotto_status sotto_matcher_init(const sotto_grammar* grammar, const sotto_vocabulary* vocabulary,
                                          const sotto_matcher_params* params, void* memory, size_t memory_size,
                                          sotto_matcher** matcher, sotto_error* error);
SOTTO_API sotto_status sotto_matcher_reset(sotto_matcher* matcher, uint32_t sequence);
SOTTO_API sotto_status sotto_matcher_mask(sotto_matcher* matcher, uint32_t sequence, uint64_t* words,
                                          size_t word_count);
SOTTO_API sotto_status sotto_matcher_borrow_mask(sotto_matcher* matcher, uint32_t sequence, const uint64_t** words);
SOTTO_API sotto_status sotto_matcher_accept_token(sotto_matcher* matcher, uint32_t sequence, sotto_token token);
SOTTO_API sotto_status sotto_matcher_accept_text(sotto_matcher* matcher, uint32_t sequence, const char* text,
                                                 size_t text_size);
SOTTO_API sotto_status sotto_matcher_test(sotto_matcher* matcher, uint32_t sequence, const char* text, size_t text_size,
                                          uint32_t* begins, uint32_t* matches);
SOTTO_API sotto_status sotto_matcher_rewind(sotto_matcher* matcher, uint64_t count);
SOTTO_API sotto_status sotto_matcher_fork(sotto_matcher* matcher, uint32_t from, uint32_t to);
SOTTO_API sotto_status sotto_matcher_forced_text(sotto_matcher* matcher, uint32_t sequence, char* text, size_t capacity,
                                                 size_t* size);
SOTTO_API sotto_status sotto_matcher_get_info(const sotto_matcher* matcher, uint32_t sequence,
                                              sotto_matcher_info* info);
SOTTO_API sotto_status sotto_session_set_matcher(sotto_session* session, sotto_matcher* matcher, sotto_error* error);
#ifdef __cplusplus
}
#endif
#endif
