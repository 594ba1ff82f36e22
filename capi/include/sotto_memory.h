/* sotto_memory.h - memory sizes as constant expressions of C and C++, so that memory can be static.
 * The values equal the results of sotto_model_memory_size and sotto_session_memory_size:
 *
 *   #define SHAPE 4096, 256, 4, 6, 1024   // vocabulary, embedding, heads, layers, feed-forward
 *   static _Alignas(SOTTO_MEMORY_ALIGNMENT) unsigned char
 *       session_memory[SOTTO_SESSION_MEMORY_BYTES(SHAPE, 256, 32, 0)];
 *
 * The arguments are numbers of elements, each of which is evaluated several times. The results are
 * bytes, and they are valid for the library with the same SOTTO_VERSION.
 */
#ifndef SOTTO_MEMORY_H
#define SOTTO_MEMORY_H

#include "sotto.h"

/* Memory of a model with int8 weights in memory. Opening a model packs the weights into memory if
 * the file contains no section for this CPU, or copies them (sotto_model_params.copy_weights). */
#define SOTTO_MODEL_MEMORY_BYTES(...) SOTTO_MODEL_BYTES_(__VA_ARGS__)

/* The same for 4-bit weights with an 8-bit head (sotto-convert --weights int4 --head int8). */
#define SOTTO_MODEL_INT8_HEAD_MEMORY_BYTES(...) SOTTO_MODEL_INT8_HEAD_BYTES_(__VA_ARGS__)

/* Memory of a model that reads all of its weights directly from the file: weights of 4 bits, int8
 * weights from a section packed for this CPU, or any weights with SOTTO_ISA_REFERENCE. For copies
 * of 4-bit weights, use sotto_model_memory_size. */
#define SOTTO_MODEL_IN_PLACE_MEMORY_BYTES(...) SOTTO_MODEL_OBJECT_BYTES_(__VA_ARGS__)

/* Memory of a session. The arguments are vocabulary, embedding, heads, layers, feed_forward,
 * context_tokens, batch_tokens (at most context_tokens) and sink_tokens. Write the actual values,
 * not 0 for a default. context_tokens defaults to the number of positions of the model. sink_tokens
 * defaults to 0 with SOTTO_OVERFLOW_STOP, and otherwise to the smaller of 4 and context_tokens/4.
 * The macro assumes the defaults of all other parameters. */
#define SOTTO_SESSION_MEMORY_BYTES(...) SOTTO_PLAIN_SESSION_BYTES_(__VA_ARGS__)

/* The same with four more arguments: sequence_count, sequence_tokens (128 for the default), features
 * and list_bytes. For b sequences of n tokens, a session needs additional memory for the keys and
 * values of b n tokens, b - 1 rows of logits, and about 1.5 KB + 32 n bytes per sequence. */
#define SOTTO_SEARCH_SESSION_MEMORY_BYTES(...) SOTTO_SEARCH_SESSION_BYTES_(__VA_ARGS__)

/* The same with draft_tokens as one more argument. Each draft token needs a row of logits and one
 * of activations; the history of n-grams needs another 16 KB. */
#define SOTTO_DRAFT_SESSION_MEMORY_BYTES(...) SOTTO_SESSION_BYTES_(__VA_ARGS__)

/* ---- How the sizes are computed ---------------------------------------------------- */

#ifdef __cplusplus
#  define SOTTO_SIZE_(count) static_cast<size_t>(count)
#else
#  define SOTTO_SIZE_(count) ((size_t)(count))
#endif

/* Sizes in bytes of objects of this version of the library. */
#define SOTTO_MODEL_SIZE_ 1024           /* the model itself */
#define SOTTO_LAYER_SIZE_ 256            /* data of a layer in a model */
#define SOTTO_SESSION_SIZE_ 40960        /* the session itself */
#define SOTTO_ROW_QUANTIZATION_SIZE_ 8   /* scale and zero point of a row of activations */
#define SOTTO_TOKEN_STATE_SIZE_ 20       /* state of a token that a rewind restores */
#define SOTTO_PAST_TOKEN_SIZE_ 16        /* counts of a token for penalties */
#define SOTTO_SLOT_SPAN_SIZE_ 8          /* consecutive slots of a sequence in the ring */
#define SOTTO_BEAM_TIP_SIZE_ 8           /* the newest token of a sequence, or its step */
#define SOTTO_RUNNING_SEQUENCE_SIZE_ 32  /* a running sequence of a search */
#define SOTTO_FINISHED_SEQUENCE_SIZE_ 24 /* a finished sequence of a search */
#define SOTTO_PHRASE_STATE_SIZE_ 132     /* progress of a sequence in each phrase */
#define SOTTO_BEAM_CANDIDATE_SIZE_ 40    /* a continuation that a beam search considers */
#define SOTTO_SAMPLER_STATE_SIZE_ 16     /* state of a sampler between tokens */
#define SOTTO_DRAFT_ENTRY_SIZE_ 32       /* an n-gram of lookahead decoding */

/* Numbers of elements. */
#define SOTTO_PACKED_OUTPUTS_ 64        /* outputs of a packed layer are a multiple of this */
#define SOTTO_PACKED_INPUTS_ 32         /* inputs of a packed layer are a multiple of this */
#define SOTTO_PACKED_EXTRA_ 16          /* bytes per output for scale, bias and sum */
#define SOTTO_HEAD_MULTIPLE_ 16         /* elements of a head's key are padded to this */
#define SOTTO_ACTIVATION_PADDING_ 128   /* bytes that kernels may read after the activations */
#define SOTTO_CANDIDATE_BLOCK_ 128      /* logits per block; the maximum of each is kept */
#define SOTTO_CANDIDATE_CHUNK_ 1024     /* logits per chunk; the sum of its weights is kept */
#define SOTTO_CANDIDATE_BUCKETS_ 1024   /* buckets of the histogram that truncations use */
#define SOTTO_MAX_PHRASES_ 32           /* phrases of a search */
#define SOTTO_MAX_DOLA_LAYERS_ 10       /* layers that SOTTO_FEATURE_DOLA compares */
#define SOTTO_STREAM_SPANS_ 3           /* spans of a sequence in the ring before its own tokens */
#define SOTTO_DRAFT_ENTRIES_ 512        /* n-grams of lookahead decoding */
#define SOTTO_DRAFT_PADDING_ 16         /* tokens after the text: the longest draft and a spare */
#define SOTTO_DEFAULT_LIST_BYTES_ 16384 /* default list_bytes of sotto_session_params */

#define SOTTO_UP_(count, multiple) ((SOTTO_SIZE_(count) + (multiple)-1) / (multiple)*SOTTO_SIZE_(multiple))
/* The size of an array: every array begins and ends at a multiple of the alignment. */
#define SOTTO_ARRAY_(count, size) SOTTO_UP_(SOTTO_SIZE_(count) * (size), SOTTO_MEMORY_ALIGNMENT)
#define SOTTO_MAX_(a, b) (SOTTO_SIZE_(a) > SOTTO_SIZE_(b) ? SOTTO_SIZE_(a) : SOTTO_SIZE_(b))

/* The size of a packed linear layer: the maximum over all instruction sets. */
#define SOTTO_PACKED_(inputs, outputs) \
  (SOTTO_UP_(outputs, SOTTO_PACKED_OUTPUTS_) * (SOTTO_UP_(inputs, SOTTO_PACKED_INPUTS_) + SOTTO_PACKED_EXTRA_))

#define SOTTO_MODEL_OBJECT_BYTES_(vocabulary, embedding, heads, layers, feed_forward) \
  (SOTTO_SIZE_(SOTTO_MODEL_SIZE_) + SOTTO_ARRAY_(layers, SOTTO_LAYER_SIZE_))
#define SOTTO_MODEL_BYTES_(vocabulary, embedding, heads, layers, feed_forward)                                         \
  (SOTTO_MODEL_OBJECT_BYTES_(vocabulary, embedding, heads, layers, feed_forward) +                                     \
   SOTTO_SIZE_(layers) * (SOTTO_PACKED_(embedding, 3 * SOTTO_SIZE_(embedding)) + SOTTO_PACKED_(embedding, embedding) + \
                          SOTTO_PACKED_(embedding, feed_forward) + SOTTO_PACKED_(feed_forward, embedding)) +           \
   SOTTO_PACKED_(embedding, vocabulary))

#define SOTTO_MODEL_INT8_HEAD_BYTES_(vocabulary, embedding, heads, layers, feed_forward) \
  (SOTTO_MODEL_OBJECT_BYTES_(vocabulary, embedding, heads, layers, feed_forward) + SOTTO_PACKED_(embedding, vocabulary))

#define SOTTO_MIN_(a, b) (SOTTO_SIZE_(a) < SOTTO_SIZE_(b) ? SOTTO_SIZE_(a) : SOTTO_SIZE_(b))
#define SOTTO_MAX3_(a, b, c) SOTTO_MAX_(SOTTO_MAX_(a, b), c)
/* The smallest power of two that is at least x, up to 2^32. */
#define SOTTO_OR_(x, bits) ((x) | (x) >> (bits))
#define SOTTO_CEIL2_(x) (SOTTO_OR_(SOTTO_OR_(SOTTO_OR_(SOTTO_OR_(SOTTO_OR_(SOTTO_SIZE_(x) - 1, 1), 2), 4), 8), 16) + 1)

/* The number of layers whose logits SOTTO_FEATURE_DOLA stores. */
#define SOTTO_DOLA_ROWS_(layers, features) \
  (((features)&SOTTO_FEATURE_DOLA) != 0 ? SOTTO_MIN_((SOTTO_SIZE_(layers) + 3) / 4, SOTTO_MAX_DOLA_LAYERS_) : 0)

/* The size of int8 keys and values and their scales. */
#define SOTTO_KV_BYTES_(embedding, heads, layers, slots)                                                               \
  (2 * SOTTO_ARRAY_(SOTTO_SIZE_(layers) * (heads) * (slots), SOTTO_UP_((embedding) / (heads), SOTTO_HEAD_MULTIPLE_)) + \
   2 * SOTTO_ARRAY_(SOTTO_SIZE_(layers) * (heads) * (slots), 4))

#define SOTTO_ROW_BYTES_(embedding, feed_forward, rows)                                                   \
  (2 * SOTTO_ARRAY_(SOTTO_SIZE_(rows) * (embedding), 4) +                                                 \
   SOTTO_ARRAY_(SOTTO_SIZE_(rows) * SOTTO_MAX_(3 * SOTTO_SIZE_(embedding), feed_forward), 4) +            \
   SOTTO_ARRAY_(SOTTO_SIZE_(rows) * SOTTO_MAX_(embedding, feed_forward) + SOTTO_ACTIVATION_PADDING_, 1) + \
   SOTTO_ARRAY_(rows, SOTTO_ROW_QUANTIZATION_SIZE_))

/* `slots` is the number of slots of the ring and of all sequences. */
#define SOTTO_FORWARD_BYTES_(vocabulary, embedding, heads, layers, feed_forward, context, batch, sequences, tokens,   \
                             slots, features, drafts)                                                                 \
  (SOTTO_KV_BYTES_(embedding, heads, layers, slots) +                                                                 \
   SOTTO_ROW_BYTES_(embedding, feed_forward, SOTTO_MAX3_(batch, sequences, SOTTO_SIZE_(drafts) + 1)) +                \
   SOTTO_ARRAY_(SOTTO_SIZE_(heads) * (SOTTO_SIZE_(context) + (tokens)), 4) +                                          \
   SOTTO_ARRAY_(SOTTO_MAX_(sequences, SOTTO_SIZE_(drafts) + 1) * SOTTO_SIZE_(vocabulary), 4) +                        \
   SOTTO_ARRAY_(                                                                                                      \
       ((features)&SOTTO_FEATURE_DOLA) != 0 ? SOTTO_SIZE_(layers) * (SOTTO_SIZE_(drafts) + 1) * (embedding) : 0, 4) + \
   SOTTO_ARRAY_(((features)&SOTTO_FEATURE_HIDDEN_HISTORY) != 0 ? SOTTO_SIZE_(slots) * (embedding) : 0, 4))

#define SOTTO_SAMPLER_BYTES_(vocabulary, context, list_bytes)                                                         \
  (3 * SOTTO_ARRAY_(vocabulary, 4) + SOTTO_ARRAY_(vocabulary, 8) +                                                    \
   SOTTO_ARRAY_(2 * SOTTO_UP_(vocabulary, SOTTO_CANDIDATE_BLOCK_) / SOTTO_CANDIDATE_BLOCK_, 4) +                      \
   SOTTO_ARRAY_(SOTTO_UP_(vocabulary, SOTTO_CANDIDATE_CHUNK_) / SOTTO_CANDIDATE_CHUNK_, 8) +                          \
   SOTTO_ARRAY_(SOTTO_CANDIDATE_CHUNK_, 4) + SOTTO_ARRAY_(SOTTO_CANDIDATE_BUCKETS_, 8) +                              \
   SOTTO_ARRAY_(SOTTO_UP_(vocabulary, 64) / 64, 8) + 2 * SOTTO_ARRAY_(list_bytes, 1) + 2 * SOTTO_ARRAY_(context, 4) + \
   SOTTO_ARRAY_(context, SOTTO_PAST_TOKEN_SIZE_) + SOTTO_ARRAY_(SOTTO_CEIL2_(2 * SOTTO_SIZE_(context)), 4))

/* The token tree, and what a search stores per sequence. `all` is sequences * tokens. */
#define SOTTO_TREE_BYTES_(sequences, tokens, all)                                                              \
  (2 * SOTTO_ARRAY_(all, 4) + 3 * SOTTO_ARRAY_(sequences, SOTTO_BEAM_TIP_SIZE_) +                              \
   SOTTO_ARRAY_(SOTTO_SIZE_(sequences) * (SOTTO_SIZE_(tokens) + SOTTO_STREAM_SPANS_), SOTTO_SLOT_SPAN_SIZE_) + \
   SOTTO_ARRAY_(sequences, SOTTO_UP_(12, sizeof(void*)) + 2 * sizeof(void*)))
#define SOTTO_SEARCH_BYTES_(sequences, all)                                                                         \
  (4 * SOTTO_ARRAY_(all, 4) + 2 * SOTTO_ARRAY_(sequences, SOTTO_RUNNING_SEQUENCE_SIZE_) +                           \
   SOTTO_ARRAY_(sequences, SOTTO_FINISHED_SEQUENCE_SIZE_) + 2 * SOTTO_ARRAY_(sequences, SOTTO_PHRASE_STATE_SIZE_) + \
   SOTTO_ARRAY_(sequences, SOTTO_BEAM_CANDIDATE_SIZE_) +                                                            \
   SOTTO_ARRAY_((3 + SOTTO_MAX_PHRASES_) * SOTTO_SIZE_(sequences), SOTTO_BEAM_CANDIDATE_SIZE_) +                    \
   SOTTO_ARRAY_(sequences, SOTTO_SAMPLER_STATE_SIZE_) + SOTTO_ARRAY_(sequences, sizeof(sotto_sequence)))

/* The text that speculation stores: tokens and n-grams. */
#define SOTTO_DRAFT_BYTES_(context, drafts)                                       \
  ((drafts) == 0 ? 0                                                              \
                 : SOTTO_ARRAY_(SOTTO_SIZE_(context) + SOTTO_DRAFT_PADDING_, 4) + \
                       SOTTO_ARRAY_(SOTTO_DRAFT_ENTRIES_, SOTTO_DRAFT_ENTRY_SIZE_))

#define SOTTO_SESSION_BYTES_(vocabulary, embedding, heads, layers, feed_forward, context, batch, sinks, sequences,     \
                             tokens, features, list_bytes, drafts)                                                     \
  (SOTTO_SIZE_(SOTTO_SESSION_SIZE_) + SOTTO_ARRAY_(2 * SOTTO_SIZE_(context), 4) + SOTTO_ARRAY_(sinks, 4) +             \
   SOTTO_ARRAY_(batch, 4) + SOTTO_ARRAY_(embedding, 4) +                                                               \
   SOTTO_FORWARD_BYTES_(vocabulary, embedding, heads, layers, feed_forward, context, batch, sequences, tokens,         \
                        SOTTO_SIZE_(context) + SOTTO_SIZE_(sequences) * (tokens), features, drafts) +                  \
   SOTTO_DRAFT_BYTES_(context, drafts) + SOTTO_TREE_BYTES_(sequences, tokens, SOTTO_SIZE_(sequences) * (tokens)) +     \
   SOTTO_SEARCH_BYTES_(sequences, SOTTO_SIZE_(sequences) * (tokens)) +                                                 \
   SOTTO_SAMPLER_BYTES_(vocabulary, context, list_bytes) + SOTTO_ARRAY_(list_bytes, 1) +                               \
   SOTTO_ARRAY_(2 * SOTTO_SIZE_(context), SOTTO_TOKEN_STATE_SIZE_) + SOTTO_ARRAY_(SOTTO_UP_(vocabulary, 64) / 64, 8) + \
   SOTTO_ARRAY_(((features)&SOTTO_FEATURE_GUIDE) != 0 ? SOTTO_SIZE_(vocabulary) : 0, 4) +                              \
   SOTTO_ARRAY_(SOTTO_DOLA_ROWS_(layers, features) * SOTTO_SIZE_(vocabulary), 4))

#define SOTTO_SEARCH_SESSION_BYTES_(vocabulary, embedding, heads, layers, feed_forward, context, batch, sinks,       \
                                    sequences, tokens, features, list_bytes)                                         \
  SOTTO_SESSION_BYTES_(vocabulary, embedding, heads, layers, feed_forward, context, batch, sinks, sequences, tokens, \
                       features, list_bytes, 0)

#define SOTTO_PLAIN_SESSION_BYTES_(vocabulary, embedding, heads, layers, feed_forward, context, batch, sinks) \
  SOTTO_SESSION_BYTES_(vocabulary, embedding, heads, layers, feed_forward, context, batch, sinks, 0, 0, 0,    \
                       SOTTO_DEFAULT_LIST_BYTES_, 0)

#endif /* SOTTO_MEMORY_H */
