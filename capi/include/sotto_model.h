/* sotto_model.h - models: the network and its tokenizer. A model never changes and may be shared between threads.
 */
#ifndef SOTTO_MODEL_H
#define SOTTO_MODEL_H

#include "sotto_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Model ---------------------------------------------------------------- */

/* A loaded model. Any number of threads may use one. */
typedef struct sotto_model sotto_model;

/* Instruction sets. All compute the same bits. AUTO selects the best one of this CPU and build; for
 * that it may request tile registers from Linux (kernels/README.md, "AMX"), as AVX512AMX does. */
typedef int32_t sotto_isa;
enum {
  /* The best one of this CPU and build. */
  SOTTO_ISA_AUTO = 0,
  /* Portable scalar code, which defines the results of all others. */
  SOTTO_ISA_REFERENCE = 1,
  /* x86-64 with AVX2 and FMA. */
  SOTTO_ISA_AVX2 = 2,
  /* x86-64 with AVX-512 F, BW, DQ and VL. */
  SOTTO_ISA_AVX512 = 3,
  /* AVX512 with VNNI. */
  SOTTO_ISA_AVX512VNNI = 4,
  /* The baseline of AArch64. */
  SOTTO_ISA_NEON = 5,
  /* NEON with the dot product extension. */
  SOTTO_ISA_NEON_DOTPROD = 6,
  /* NEON_DOTPROD with the int8 matrix extension. */
  SOTTO_ISA_NEON_I8MM = 7,
  /* AVX512VNNI with int8 tiles, on Linux. */
  SOTTO_ISA_AVX512AMX = 8
};

/* Returns the static name of an instruction set, such as "avx2", or "unknown" for other values. */
SOTTO_API const char* sotto_isa_text(sotto_isa isa);

/* Reports that _init has finished reading `size` bytes at `bytes` of the model file and will rarely
 * read them again. A host may release mapped pages (madvise DONTNEED), but they must stay readable. */
typedef void (*sotto_release_fn)(void* user_data, const void* bytes, size_t size);

/* Parameters of a model. */
typedef struct sotto_model_params {
  uint32_t struct_size;
  /* Instruction set. Apart from REFERENCE, all sets that a process uses must pack weights alike, as
   * AVX512, AVX512VNNI and AVX512AMX do. Any other set then fails with INVALID_STATE. Default AUTO. */
  sotto_isa isa;
  /* Whether the bytes of tensors are verified while they are read. Otherwise only the structure of
   * the file is. Default 1. */
  uint32_t verify_checksums;
  /* Whether weights that the file holds packed for this CPU are copied into the model's memory (for
   * example huge pages), with a call of `release` after each chunk. Default 0. */
  uint32_t copy_weights;
  /* Receives messages. May be NULL. */
  sotto_log_fn log;
  void* log_user_data;
  /* Called with the bytes of the file that are no longer read. May be NULL. */
  sotto_release_fn release;
  void* release_user_data;
} sotto_model_params;

/* Properties of a model. */
typedef struct sotto_model_info {
  uint32_t struct_size;
  /* Number of tokens in the vocabulary. */
  uint32_t vocabulary_size;
  /* Number of learned positions. */
  uint32_t max_context_tokens;
  /* Number of transformer layers. */
  uint32_t layer_count;
  /* Number of attention heads per layer. */
  uint32_t head_count;
  /* Width of the hidden states. */
  uint32_t embedding_size;
  /* Width of the feed-forward layers. */
  uint32_t feed_forward_size;
  /* The token that ends a text, or -1 if there is none. */
  int32_t end_of_text_token;
  /* Whether the file holds a tokenizer. */
  uint32_t has_tokenizer;
  /* Size of the longest token in bytes, or 0 without a tokenizer. */
  uint32_t max_token_bytes;
  /* The instruction set in use. */
  sotto_isa isa;
  /* Whether all weights are used from the file, those of 8 bits from its section packed for this
   * CPU. 0 with copy_weights. */
  uint32_t packed_in_place;
  /* Number of parameters of the network. */
  uint64_t parameter_count;
  /* Bytes of weights that are read per decoded token. */
  uint64_t weight_bytes;
  /* Bytes of the vocabulary that the file holds prepared for grammars. With 0,
   * sotto_vocabulary_init prepares it in memory. */
  uint64_t vocabulary_bytes;
  /* 8, or 4 if the weights of all layers have 4 bits. */
  uint32_t layer_weight_bits;
  /* Bits of the weights of the head (and of the embeddings if they are tied): 8 or 4. */
  uint32_t head_weight_bits;
} sotto_model_info;

/* Fills in the defaults. Pass sizeof(*params), so that older callers stay valid. The _memory_size
 * and _init functions also accept NULL, which means the defaults. */
SOTTO_API void sotto_model_params_init(sotto_model_params* params, size_t params_size);

/* Returns the bytes of memory that sotto_model_init needs for this file and these parameters, and
 * verifies the file's structure. `file` must be aligned to SOTTO_MEMORY_ALIGNMENT. Errors:
 * MODEL_CORRUPT, MODEL_UNSUPPORTED, MEMORY_MISALIGNED, CPU_UNSUPPORTED, INVALID_ARGUMENT,
 * INVALID_STATE (isa). */
SOTTO_API sotto_status sotto_model_memory_size(const void* file, size_t file_size, const sotto_model_params* params,
                                               size_t* memory_size, sotto_error* error);

/* Builds a model in `memory`. `file` and `memory` must outlive the model. `file` is used in place
 * and never written. `params` is copied. Weights of 4 bits are used from the file. Weights of 8
 * bits are used from it if it holds a section packed for this CPU, and are packed into `memory`
 * otherwise. Errors: as above, and MEMORY_TOO_SMALL. */
SOTTO_API sotto_status sotto_model_init(const void* file, size_t file_size, const sotto_model_params* params,
                                        void* memory, size_t memory_size, sotto_model** model, sotto_error* error);

/* Ends a model, which may be NULL. Its sessions must have ended before. */
SOTTO_API void sotto_model_deinit(sotto_model* model);

/* Writes the properties of the model to *info. */
SOTTO_API sotto_status sotto_model_get_info(const sotto_model* model, sotto_model_info* info);

/* ---- Tokens --------------------------------------------------------------- */

/* Flags of sotto_tokenize. */
enum {
  /* Text such as <|endoftext|> becomes its special token. */
  SOTTO_TOKENIZE_SPECIAL = 1
};

/* Encodes text with the model's byte-level BPE. At most one token per byte is written (two for the
 * rare vocabulary that puts a space before text). `*count` receives the number of tokens written.
 * With SOTTO_BUFFER_TOO_SMALL it receives a sufficient capacity, which never exceeds that bound. It
 * exceeds the final count only for texts with words of more than 256 bytes, whose search may need
 * one entry per byte. `tokens` may be NULL when `capacity` is 0. The time is nearly linear in
 * text_size. Errors: TEXT_INVALID (error->offset: the byte), TOKENIZER_MISSING, BUFFER_TOO_SMALL,
 * INVALID_ARGUMENT (flags, or a byte the vocabulary lacks: error->offset). */
SOTTO_API sotto_status sotto_tokenize(const sotto_model* model, const char* text, size_t text_size, uint32_t flags,
                                      sotto_token* tokens, size_t capacity, size_t* count, sotto_error* error);

/* Returns the bytes of one token, owned by the model. They may begin or end inside a character.
 * Errors: INVALID_ARGUMENT (no such token), TOKENIZER_MISSING. */
SOTTO_API sotto_status sotto_token_bytes(const sotto_model* model, sotto_token token, const char** bytes, size_t* size);

/* Writes the bytes of many tokens, one after the other, which is exactly the text that was encoded.
 * `*size` receives the number of bytes needed, even with SOTTO_BUFFER_TOO_SMALL. `bytes` may be
 * NULL when `capacity` is 0. */
SOTTO_API sotto_status sotto_detokenize(const sotto_model* model, const sotto_token* tokens, size_t count, char* bytes,
                                        size_t capacity, size_t* size);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_MODEL_H */
