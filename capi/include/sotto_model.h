/* sotto_model.h - models: the weights of a network and its tokenizer.
 *
 * A program reads or maps a model file, asks for the size of the model, and opens it in memory of
 * its own:
 *
 *   sotto_model_memory_size(file, file_size, NULL, &size, &error);
 *   sotto_model_init(file, file_size, NULL, memory, size, &model, &error);
 *
 * The file stays in use until the model is closed. Models never change, so any number of sessions
 * and threads can share one.
 */
/* The enums and structs below are generated from capi/params/model.toml: edit that file. */
#ifndef SOTTO_MODEL_H
#define SOTTO_MODEL_H

#include "sotto_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Model ---------------------------------------------------------------- */

/* A loaded model. It is immutable, so any number of threads may use it at the same time. */
typedef struct sotto_model sotto_model;

/* Instruction sets. All of them compute the same bits. AUTO and AVX512AMX may request the AMX tile
 * registers from Linux (see "AMX" in kernels/README.md). */
typedef int32_t sotto_isa;
enum {
  /* The fastest instruction set that this build contains and this CPU supports. */
  SOTTO_ISA_AUTO = 0,
  /* Portable scalar code. It defines the results of all other sets. */
  SOTTO_ISA_REFERENCE = 1,
  /* x86-64 with AVX2 and FMA. */
  SOTTO_ISA_AVX2 = 2,
  /* x86-64 with AVX-512 F, BW, DQ and VL. */
  SOTTO_ISA_AVX512 = 3,
  /* AVX512 with VNNI. */
  SOTTO_ISA_AVX512VNNI = 4,
  /* AArch64 without optional extensions. */
  SOTTO_ISA_NEON = 5,
  /* NEON with the dot product extension. */
  SOTTO_ISA_NEON_DOTPROD = 6,
  /* NEON_DOTPROD with the int8 matrix extension. */
  SOTTO_ISA_NEON_I8MM = 7,
  /* AVX512VNNI with AMX tiles of int8, on Linux. */
  SOTTO_ISA_AVX512AMX = 8,
  /* WebAssembly with SIMD. */
  SOTTO_ISA_SIMD128 = 9,
  /* SIMD128 with relaxed SIMD, where multiplication and addition are fused. */
  SOTTO_ISA_RELAXED_SIMD = 10
};

/* Returns the name of an instruction set, such as "avx2", or "unknown" for other values. The text
 * is static. */
SOTTO_API const char* sotto_isa_text(sotto_isa isa);

/* Called when sotto_model_init has finished with a range of the model file: `size` bytes at
 * `bytes`. The library rarely reads this range again, so the host may release its pages (madvise
 * with MADV_DONTNEED) if they remain readable. */
typedef void (*sotto_release_fn)(void* user_data, const void* bytes, size_t size);

/* Parameters of a model. */
typedef struct sotto_model_params {
  uint32_t struct_size;
  /* Instruction set. The models of a process may use different ones. Default: AUTO. */
  sotto_isa isa;
  /* If true, opening a model verifies the checksums of the tensors. The structure of the file is
   * always verified. Default: 1. */
  uint32_t verify_checksums;
  /* If true, weights that would be used in place from the file (those packed for this CPU, 4-bit
   * weights, and all weights with SOTTO_ISA_REFERENCE) are copied into the model's memory, for
   * example into huge pages. `release` is called after each chunk. Default: 0. */
  uint32_t copy_weights;
  /* Receives log messages. May be NULL. */
  sotto_log_fn log;
  void* log_user_data;
  /* Called with ranges of the file whose pages the host may release. May be NULL. */
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
  /* The end-of-text token, or -1 if there is none. */
  int32_t end_of_text_token;
  /* Number of end-of-text tokens. Each of them ends a text; sotto_token_flags says which tokens
   * they are. */
  uint32_t end_of_text_count;
  /* True if the file contains a tokenizer. */
  uint32_t has_tokenizer;
  /* Size of the longest token in bytes, or 0 without a tokenizer. */
  uint32_t max_token_bytes;
  /* The instruction set in use. */
  sotto_isa isa;
  /* Number of parameters of the network. */
  uint64_t parameter_count;
  /* Bytes of weights that are read to decode one token. */
  uint64_t weight_bytes;
  /* Size of the prepared vocabulary that the file contains for grammars. If it is 0,
   * sotto_vocabulary_init prepares the vocabulary in memory. */
  uint64_t vocabulary_bytes;
  /* Bits per weight in the layers: 4 if all layers have 4-bit weights, otherwise 8. */
  uint32_t layer_weight_bits;
  /* Bits per weight in the head, and in the embeddings if they are tied to it: 8 or 4. */
  uint32_t head_weight_bits;
  /* True if all weights are read directly from the file: none were packed or copied into memory. */
  uint32_t packed_in_place;
  /* Temperature that sotto_sampler_params.model_defaults selects: the file's recommendation, or
   * else the sampler's default. The next fields hold other parameters of the sampler in the same
   * way. */
  float default_temperature;
  /* Value of top_k that model_defaults selects. */
  uint32_t default_top_k;
  /* Value of top_p that model_defaults selects. */
  float default_top_p;
  /* Value of min_p that model_defaults selects. */
  float default_min_p;
  /* Value of typical_p that model_defaults selects. */
  float default_typical_p;
  /* Value of repetition_penalty that model_defaults selects. */
  float default_repetition_penalty;
  /* Value of repetition_window that model_defaults selects. */
  uint32_t default_repetition_window;
  /* Value of no_repeat_ngram that model_defaults selects. */
  uint32_t default_no_repeat_ngram;
  /* Number of rewards of a reward model, or 0 for other models. The last reward_count ids of the
   * vocabulary are not tokens. Their logits after the last token of a text are its rewards. */
  uint32_t reward_count;
} sotto_model_info;

/* Sets all parameters to their defaults. Pass sizeof(*params) as the size; it tells the library
 * which version of the struct the caller was compiled with. */
SOTTO_API void sotto_model_params_init(sotto_model_params* params, size_t params_size);

/* Returns the number of bytes of memory that sotto_model_init needs for this file and these
 * parameters. The function also verifies the structure of the file. `file` must be aligned to
 * SOTTO_MEMORY_ALIGNMENT; otherwise, copy it to an aligned block, and pass the block to both
 * functions. Errors: MODEL_CORRUPT, MODEL_UNSUPPORTED, MEMORY_MISALIGNED, CPU_UNSUPPORTED,
 * INVALID_ARGUMENT. */
SOTTO_API sotto_status sotto_model_memory_size(const void* file, size_t file_size, const sotto_model_params* params,
                                               size_t* memory_size, sotto_error* error);

/* Opens a model. The object is built in `memory`; both `file` and `memory` must outlive it. The
 * file is used in place and never written. 4-bit weights are read directly from it, and so are
 * 8-bit weights if it contains a section packed for this CPU. Otherwise, 8-bit weights are packed
 * into `memory`. `params` is copied. Errors: as above, and MEMORY_TOO_SMALL. */
SOTTO_API sotto_status sotto_model_init(const void* file, size_t file_size, const sotto_model_params* params,
                                        void* memory, size_t memory_size, sotto_model** model, sotto_error* error);

/* Closes a model. All sessions of the model must have been closed before. `model` may be NULL. A
 * second call does nothing if the memory has not been written since. */
SOTTO_API void sotto_model_deinit(sotto_model* model);

/* Writes the properties of the model to *info. */
SOTTO_API sotto_status sotto_model_get_info(const sotto_model* model, sotto_model_info* info);

/* Texts that a model file contains about the model. */
typedef int32_t sotto_model_text_kind;
enum {
  /* The name of the model. */
  SOTTO_MODEL_TEXT_NAME = 0,
  /* The origin of the weights. */
  SOTTO_MODEL_TEXT_SOURCE = 1,
  /* The licence of the weights, usually an identifier such as mit. */
  SOTTO_MODEL_TEXT_LICENSE = 2,
  /* The Jinja template that turns a conversation into a prompt. */
  SOTTO_MODEL_TEXT_CHAT_TEMPLATE = 3,
  /* The same template as a format for sotto_chat_init. Empty if no format is equivalent. */
  SOTTO_MODEL_TEXT_CHAT_FORMAT = 4
};

/* Returns a text that the file contains about the model, or a text of size 0 if there is none. The
 * text belongs to the file and is followed by a NUL. The licence and the chat template are UTF-8.
 * Errors: INVALID_ARGUMENT (no such kind). */
SOTTO_API sotto_status sotto_model_text(const sotto_model* model, sotto_model_text_kind kind, const char** text,
                                        size_t* size);

/* ---- Tokens --------------------------------------------------------------- */

/* Flags of sotto_tokenize. */
enum {
  /* Text such as <|endoftext|> becomes its special token. */
  SOTTO_TOKENIZE_SPECIAL = 1
};

/* Flags of sotto_token_flags. */
enum {
  /* An added token. The tokenizer finds its text before it encodes the rest of a text. */
  SOTTO_TOKEN_ADDED = 1,
  /* A control token. Its text becomes the token only with SOTTO_TOKENIZE_SPECIAL. */
  SOTTO_TOKEN_SPECIAL = 2,
  /* An id without text. */
  SOTTO_TOKEN_UNUSED = 4,
  /* The token ends a text. */
  SOTTO_TOKEN_END_OF_TEXT = 8
};

/* Encodes UTF-8 text with the model's tokenizer. `*count` receives the number of tokens written, or
 * with SOTTO_BUFFER_TOO_SMALL a sufficient capacity. For byte-level BPE, this capacity is at most
 * text_size, or twice text_size if the vocabulary puts a space before the text. It can exceed the
 * final count, because words of more than 256 bytes and normalized texts of more than 1024 bytes
 * are encoded inside the buffer. `tokens` may be NULL when `capacity` is 0. The time is nearly
 * linear in text_size.
 *
 * Errors: TEXT_INVALID (error->offset is the invalid byte), TOKENIZER_MISSING, BUFFER_TOO_SMALL,
 * INVALID_ARGUMENT (invalid flags, or text that the vocabulary cannot spell, at error->offset). */
SOTTO_API sotto_status sotto_tokenize(const sotto_model* model, const char* text, size_t text_size, uint32_t flags,
                                      sotto_token* tokens, size_t capacity, size_t* count, sotto_error* error);

/* Returns the bytes of one token. They belong to the model and may begin or end inside a character.
 * Errors: INVALID_ARGUMENT (no such token), TOKENIZER_MISSING. */
SOTTO_API sotto_status sotto_token_bytes(const sotto_model* model, sotto_token token, const char** bytes, size_t* size);

/* Writes the SOTTO_TOKEN_ flags of one token. Errors: INVALID_ARGUMENT (no such token). */
SOTTO_API sotto_status sotto_token_flags(const sotto_model* model, sotto_token token, uint32_t* flags);

/* Decodes tokens: writes their bytes one after the other. Byte-level BPE restores exactly the text
 * that was encoded; other tokenizers may have put spaces before words or normalized the text.
 * `*size` receives the number of bytes needed, even with SOTTO_BUFFER_TOO_SMALL. `bytes` may be
 * NULL when `capacity` is 0. */
SOTTO_API sotto_status sotto_detokenize(const sotto_model* model, const sotto_token* tokens, size_t count, char* bytes,
                                        size_t capacity, size_t* size);

#ifdef __cplusplus
}
#endif

#endif /* SOTTO_MODEL_H */
