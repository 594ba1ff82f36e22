/* sotto_memory.h - what sotto_model_memory_size and sotto_session_memory_size return, as
 * constant expressions for C and C++, so that memory can be static:
 *
 *   #define SHAPE 4096, 256, 4, 6, 1024   // vocabulary, embedding, heads, layers, feed-forward
 *   static _Alignas(SOTTO_MEMORY_ALIGNMENT) unsigned char
 *       session_memory[SOTTO_SESSION_MEMORY_BYTES(SHAPE, 256, 32, 0)];
 *
 * Figures hold for the library of the same SOTTO_VERSION. Arguments are evaluated many
 * times. All are sizes in elements; bytes come out.
 */
#ifndef SOTTO_MEMORY_H
#define SOTTO_MEMORY_H

#include "sotto.h"

/* Memory of a model whose weights are packed into memory: the file holds no section for
 * this CPU. */
#define SOTTO_MODEL_MEMORY_BYTES(...) SOTTO_MODEL_BYTES_(__VA_ARGS__)

/* Memory of a model that needs none for weights: they are used from the file's packed
 * section, or the instruction set is SOTTO_ISA_REFERENCE. */
#define SOTTO_MODEL_IN_PLACE_MEMORY_BYTES(...) SOTTO_MODEL_OBJECT_BYTES_(__VA_ARGS__)

/* Memory of a session: vocabulary, embedding, heads, layers, feed_forward, then
 * context_tokens, batch_tokens (not above context_tokens) and sink_tokens with the defaults
 * put in: the model's positions for context_tokens 0; for sink_tokens 0 with
 * SOTTO_OVERFLOW_STOP and the lesser of 4 and context_tokens/4 otherwise. */
#define SOTTO_SESSION_MEMORY_BYTES(...) SOTTO_SESSION_BYTES_(__VA_ARGS__)

/* ---- How they come about ---------------------------------------------------- */

#define SOTTO_UP_(count, multiple) \
  (((size_t)(count) + (multiple) - 1) / (multiple) * (size_t)(multiple))
/* An array of `count` elements of `size` bytes begins and ends on 64 bytes. */
#define SOTTO_ARRAY_(count, size) SOTTO_UP_((size_t)(count) * (size), 64)
#define SOTTO_MAX_(a, b) ((size_t)(a) > (size_t)(b) ? (size_t)(a) : (size_t)(b))

/* A packed linear layer, bounded over all instruction sets. */
#define SOTTO_PACKED_(inputs, outputs) (SOTTO_UP_(outputs, 64) * (SOTTO_UP_(inputs, 32) + 16))

#define SOTTO_MODEL_OBJECT_BYTES_(vocabulary, embedding, heads, layers, feed_forward) \
  ((size_t)1024 + SOTTO_ARRAY_(layers, 256))
#define SOTTO_MODEL_BYTES_(vocabulary, embedding, heads, layers, feed_forward)              \
  (SOTTO_MODEL_OBJECT_BYTES_(vocabulary, embedding, heads, layers, feed_forward) +          \
   (size_t)(layers) * (SOTTO_PACKED_(embedding, 3 * (size_t)(embedding)) +                  \
                       SOTTO_PACKED_(embedding, embedding) +                                \
                       SOTTO_PACKED_(embedding, feed_forward) +                             \
                       SOTTO_PACKED_(feed_forward, embedding)) +                            \
   SOTTO_PACKED_(embedding, vocabulary))

/* int8 keys and values and their scales. */
#define SOTTO_KV_BYTES_(embedding, heads, layers, context)                                  \
  (2 * SOTTO_ARRAY_((size_t)(layers) * (heads) * (context),                                 \
                    SOTTO_UP_((embedding) / (heads), 16)) +                                 \
   2 * SOTTO_ARRAY_((size_t)(layers) * (heads) * (context), 4))

#define SOTTO_ACTIVATION_BYTES_(vocabulary, embedding, heads, feed_forward, context, batch) \
  (2 * SOTTO_ARRAY_((size_t)(batch) * (embedding), 4) +                                     \
   SOTTO_ARRAY_((size_t)(batch) * SOTTO_MAX_(3 * (size_t)(embedding), feed_forward), 4) +   \
   SOTTO_ARRAY_((size_t)(batch) * SOTTO_MAX_(embedding, feed_forward) + 128, 1) +           \
   SOTTO_ARRAY_((batch) + 16, 8) + SOTTO_ARRAY_((size_t)(heads) * (context), 4) +           \
   SOTTO_ARRAY_(vocabulary, 4) + 5 * (size_t)12288)

#define SOTTO_SAMPLER_BYTES_(vocabulary)                                                    \
  (2 * SOTTO_ARRAY_(vocabulary, 4) + SOTTO_ARRAY_(vocabulary, 8) +                          \
   SOTTO_ARRAY_(2 * SOTTO_UP_(vocabulary, 128) / 128, 4) +                                  \
   SOTTO_ARRAY_(SOTTO_UP_(vocabulary, 1024) / 1024, 8) + 2 * SOTTO_ARRAY_(1024, 4) +        \
   SOTTO_ARRAY_(1024, 8) +                                                                  \
   SOTTO_ARRAY_(SOTTO_UP_(vocabulary, 64) / 64, 8))

#define SOTTO_SESSION_BYTES_(vocabulary, embedding, heads, layers, feed_forward, context,   \
                             batch, sinks)                                                  \
  ((size_t)8192 + SOTTO_ARRAY_(2 * (size_t)(context), 4) + SOTTO_ARRAY_(sinks, 4) +         \
   SOTTO_ARRAY_(batch, 4) + SOTTO_KV_BYTES_(embedding, heads, layers, context) +            \
   SOTTO_ACTIVATION_BYTES_(vocabulary, embedding, heads, feed_forward, context, batch) +    \
   SOTTO_SAMPLER_BYTES_(vocabulary))

#endif /* SOTTO_MEMORY_H */
