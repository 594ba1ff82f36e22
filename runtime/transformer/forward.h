// The forward pass of GPT-2 (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners") over a batch
// of rows: consecutive tokens of a stream, tokens of beams, or one token of each of several streams.
//
// Weights are int8 or int4, and activations are quantized to int8 per row before each linear layer, but the residual
// stream x stays in float. Forward::evaluate_layer() in forward.cpp has the equations of a layer, and a table of the
// buffers that each step uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/linear/linear.h"
#include "kernels/thread_pool.h"
#include "runtime/base/arena.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/status.h"
#include "runtime/base/token_mask.h"
#include "runtime/generated/params.h"
#include "runtime/model/model.h"
#include "runtime/transformer/hidden_states.h"
#include "runtime/transformer/kv_ring.h"

namespace sotto {

class Forward;

// A token to evaluate.
struct TokenRow {
  Forward* forward = nullptr;  // of the token's stream; keeps the token's keys, values and states
  int32_t token = 0;
  uint32_t position = 0;
  // The slots that a token of a beam attends to; the last one is its own. Empty for all other tokens, because their
  // position determines their slots.
  std::span<const SlotSpan> window = {};

  // Returns the slot for the keys and values of the token.
  uint32_t slot() const;
};

// The rows of one evaluation: either consecutive tokens of one stream, or an array of rows.
struct TokenBatch {
  std::span<const int32_t> tokens = {};  // at the positions first_position, first_position + 1, ...
  uint32_t first_position = 0;
  std::span<const TokenRow> rows = {};  // in place of tokens
  uint32_t layer_count = UINT32_MAX;    // number of layers to evaluate; UINT32_MAX for all
  const float* embeddings = nullptr;    // (row, embedding); used in place of the token embeddings if not null

  size_t row_count() const { return tokens.size() + rows.size(); }
};

// Where an evaluation copies the hidden states of a stream's rows. Null pointers stand for states that nobody needs.
struct StateOutputs {
  LayerStates* layers = nullptr;     // receives the state of each row before each layer
  HiddenHistory* history = nullptr;  // receives the state of each row after the final norm, at the row's slot
};

class Forward {
 public:
  // The outputs must outlive this object.
  void layout(Arena& arena, const ModelConfig& config, const ResolvedSessionParams& params,
              const StateOutputs& outputs);
  // Requires layout() over real memory. `pool` may be null.
  void init(const Model& model, ThreadPool* pool);

  // Evaluates a batch of at most row_capacity() rows and stores their keys and values. Computes no logits.
  //
  // A cancellation stops the evaluation between two layers, with kStopCancelled. The keys and values of the stream are
  // then unchanged, but the rows and logits of the last batch are lost. An evaluation that overwrites the slots of
  // older tokens could not be undone, so it can be cancelled only before the first layer.
  Status evaluate(const TokenBatch& batch, const Cancellation& cancellation);

  // Evaluates one row of each of several streams of the same model, at most row_capacity(), so that each weight is read
  // once for all rows. The activations are stored in this forward pass, that of rows[0]. Afterwards, every forward pass
  // is in the same state as if it had evaluated its row alone and computed the logits. `pool` may be null.
  void evaluate_streams(std::span<const TokenRow> rows, ThreadPool* pool);
  size_t row_capacity() const { return row_capacity_; }

  // Computes logits(0), logits(1), ... for at most logit_row_count() rows of the last batch, starting at first_row.
  // After an evaluation of some layers only, these are the head's output for the hidden states after these layers.
  void compute_logits(size_t first_row, size_t count);
  size_t logit_row_count() const { return logit_row_count_; }
  std::span<float> logits(size_t index) const { return {logits_ + index * vocabulary_size_, vocabulary_size_}; }

  // Computes only those logits of a row that `mask` allows. This is much faster than computing all of them if
  // should_restrict_logits(mask) is true. The others in logits(0) are undefined.
  void compute_allowed_logits(size_t row, const TokenMask& mask);
  bool should_restrict_logits(const TokenMask& mask) const;

  // Returns the hidden states of rows of the last batch after the final norm, as (row, embedding), valid until the next
  // call.
  std::span<const float> final_states(size_t first_row, size_t count);

  // The input of the head: the final norm of a state, or the state itself. In the latter case the head's bias is
  // not added, because in a tied head it only compensates shifts of the final norm (converters/quantize/migration.h).
  enum class HeadInput { kNorm, kState };
  // Applies the head to `count` hidden states that begin `stride` floats apart, and writes their logits to `logits`, as
  // (state, token). The rows of the last batch and logits() do not change.
  void apply_head(HeadInput input, const float* states, size_t stride, size_t count, float* logits);

  const KvRing& ring() const { return ring_; }

 private:
  // One attention sublayer: the projections of a batch, and its result before the output projection.
  struct Attention {
    uint32_t layer;
    const TokenBatch& batch;
    const float* projections;  // (row, {query, key, value}, head, head_size)
    float* output;             // (row, head, head_size)
  };

  TokenRow row_of(const TokenBatch& batch, size_t index);
  void output_layer_states(uint32_t layer, const TokenBatch& batch);
  void output_final_states(const TokenBatch& batch);
  void compute_stream_logits(std::span<const TokenRow> rows);
  void evaluate_layer(uint32_t index, bool is_last, const TokenBatch& batch);
  void embed(const TokenBatch& batch);
  void attend(const Attention& attention);
  void store_row(const Attention& attention, uint32_t head, size_t row);
  size_t attention_block(const TokenBatch& batch) const;
  void attend_in_blocks(const Attention& attention, uint32_t head, size_t block);
  void attend_row(const Attention& attention, uint32_t head, size_t row);
  void add(const float* y, size_t rows);
  void add_row(const float* y, size_t row);
  void normalize(const NormView& norm, size_t rows);
  void normalize_row(const NormView& norm, size_t row);
  void add_and_normalize(const float* y, const NormView& norm, size_t rows);
  void activate(float* units, size_t rows);
  const float* final_norm(const float* x, size_t stride, size_t rows);
  void quantize(const float* values, size_t width, size_t rows);
  void multiply(const LinearWeights& weights, size_t rows, float* y);

  const Model* model_ = nullptr;
  ThreadPool* pool_ = nullptr;
  KvRing ring_;
  StateOutputs outputs_;
  uint32_t context_tokens_ = 0;
  size_t row_capacity_ = 0;  // maximum number of rows per batch
  size_t vocabulary_size_ = 0;
  size_t logit_row_count_ = 0;
  size_t visible_count_ = 0;  // maximum number of slots that a row attends to
  float* hidden_ = nullptr;   // (row, embedding): the residual stream x
  float* narrow_ = nullptr;   // (row, embedding): the output of a sublayer, or a norm
  float* wide_ = nullptr;     // (row, 3 embedding or feed_forward): projections, or feed-forward units
  size_t quantized_size_ = 0;
  int8_t* quantized_ = nullptr;              // (row, embedding or feed_forward): the input of the next product
  float* block_scores_ = nullptr;            // scores of blocks of rows, in the memory of quantized_
  RowQuantization* quantization_ = nullptr;  // (row)
  float* scores_ = nullptr;                  // (head, visible slot)
  float* logits_ = nullptr;                  // (row, token)
  LinearKernels linear_kernels_;
};

}  // namespace sotto
