// The forward pass of GPT-2 (Radford et al. 2019) over a batch: consecutive tokens of the
// stream, or tokens of sequences that branch off it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/linear/linear.h"
#include "kernels/thread_pool.h"
#include "runtime/base/arena.h"
#include "runtime/base/status.h"
#include "runtime/base/token_mask.h"
#include "runtime/model/model.h"
#include "runtime/transformer/hidden_history.h"
#include "runtime/transformer/kv_ring.h"

namespace sotto {

// Bits of ForwardShape::features, numbered as SOTTO_FEATURE_.
inline constexpr uint32_t kFeatureHiddenHistory = 1;
inline constexpr uint32_t kFeatureLayerStates = 2;

struct ForwardShape {
  uint32_t context_tokens = 0;
  uint32_t sink_tokens = 0;
  uint32_t batch_tokens = 0;
  uint32_t sequence_count = 0;   // branch rows evaluated at once
  uint32_t sequence_tokens = 0;  // branch slots for each
  uint32_t features = 0;
  uint32_t draft_tokens = 0;  // rows behind a token whose logits are wanted with its own
};

// Beside the last layer, the layers whose logits DoLa may compare (Chuang et al. 2024).
constexpr uint32_t premature_layer_count(uint32_t layer_count) { return std::min((layer_count + 3) / 4, uint32_t{10}); }

// A token of a branch: where it goes, and what it sees, its own slot last.
struct BranchRow {
  int32_t token = 0;
  uint32_t position = 0;
  uint32_t slot = 0;
  std::span<const SlotSpan> window;
};

class Forward {
 public:
  // Takes buffers and the KV ring from `arena`, which may only measure.
  void lay_out(const ModelConfig& config, const ForwardShape& shape, Arena* arena);
  // After lay_out over real memory. `pool` may be null.
  Status init(const Model& model, ThreadPool* pool, Error* error);

  // Evaluates tokens at positions first_position, +1, ... (at most batch_tokens): their keys
  // and values enter the ring. With `want_logits`, logits(0) are those after the last one.
  // Stops between layers with kStopCancelled once `cancelled` is set, unless a slot has
  // been overwritten by then; nothing has happened in that case.
  Status evaluate(std::span<const int32_t> tokens, uint32_t first_position, bool want_logits,
                  const std::atomic<uint32_t>& cancelled);

  // Evaluates one token in the first `layer_count` layers alone: its keys and values enter
  // theirs, and logits(0) are what the head makes of its state there.
  Status evaluate_first_layers(int32_t token, uint32_t position, uint32_t layer_count,
                               const std::atomic<uint32_t>& cancelled);

  // Evaluates at most sequence_count rows of branches; logits(i) are those after row i.
  Status evaluate_branches(std::span<const BranchRow> rows, const std::atomic<uint32_t>& cancelled);

  // logits(0), logits(1), ... of rows of the last batch; at most logit_row_count().
  Status compute_logits(size_t first_row, size_t count);
  size_t logit_row_count() const { return logit_row_count_; }
  // Of one row only the logits that `mask` allows; the rest of logits(0) is undefined. Few of
  // them cost far less than all: pays_to_restrict().
  void compute_allowed_logits(size_t row, const TokenMask& mask);
  bool pays_to_restrict(const TokenMask& mask) const;

  std::span<float> logits(size_t index) const { return {logits_ + index * vocabulary_size_, vocabulary_size_}; }

  // The hidden states of rows of the last batch behind the final norm, (row, embedding), until
  // the next call.
  std::span<const float> final_states(size_t first_row, size_t count);

  // With kFeatureLayerStates: what the head makes of a row's state as it entered some layers
  // (0 ... layer_count - 1), at most premature_layer_count() of them, behind the final norm.
  // The row is one of the last draft_tokens + 1 of the last batch. premature_logits(i) are
  // those of layers[i]; logits() stay.
  Status compute_premature_logits(size_t row, std::span<const uint32_t> layers);
  std::span<float> premature_logits(size_t index) const { return logits(logit_row_count_ + index); }

  const KvRing& ring() const { return ring_; }
  // With kFeatureHiddenHistory.
  const HiddenHistory& hidden_history() const { return hidden_history_; }

 private:
  friend class ContextImage;

  enum Shape { kQkv, kAttentionOutput, kUp, kDown, kHead, kShapeCount };
  struct Batch;

  Status evaluate_layers(const Batch& batch, bool overwrites, const std::atomic<uint32_t>& cancelled);
  Status evaluate_layer(uint32_t layer, bool is_last, const Batch& batch);
  void embed(const Batch& batch);
  void normalize(const NormView& norm, size_t rows, const float* branch);
  void attend(uint32_t layer, const Batch& batch);
  void store_row(uint32_t layer, uint32_t head, const Batch& batch, size_t row);
  size_t attention_block(const Batch& batch) const;
  void attend_in_blocks(uint32_t layer, uint32_t head, const Batch& batch, size_t block);
  void attend_row(uint32_t layer, uint32_t head, const Batch& batch, size_t row);
  void activate(size_t rows);
  void add_branch(size_t rows);
  void remember(const Batch& batch);
  Status multiply_head(const float* x, size_t rows, float* logits);
  void normalize_finally(const float* x, size_t rows);
  void quantize(const float* x, size_t width, size_t rows);
  Status multiply(Shape shape, const LinearWeights& weights, size_t rows, float* y);

  const Model* model_ = nullptr;
  ThreadPool* pool_ = nullptr;
  KvRing ring_;
  HiddenHistory hidden_history_;
  uint32_t context_tokens_ = 0;
  uint32_t features_ = 0;
  size_t state_rows_ = 0;       // rows of a batch whose layer states stay
  size_t first_state_row_ = 0;  // of the last batch
  size_t vocabulary_size_ = 0;
  size_t logit_row_count_ = 0;
  size_t visible_count_ = 0;  // slots a row can see
  float* hidden_ = nullptr;   // (row, embedding): the residual stream
  float* branch_ = nullptr;   // (row, embedding): what a sublayer adds to it
  float* wide_ = nullptr;     // (row, 3 embedding or feed_forward)
  size_t quantized_size_ = 0;
  int8_t* quantized_ = nullptr;              // (row, embedding or feed_forward)
  RowQuantization* quantization_ = nullptr;  // (row)
  float* scores_ = nullptr;                  // (head, visible slot)
  float* logits_ = nullptr;                  // (logit row, then premature layer; vocabulary)
  float* layer_states_ = nullptr;            // (layer, row, embedding): the last rows entering it
  uint8_t* operator_memory_ = nullptr;
  LinearOperator* operators_[kShapeCount] = {};
};

}  // namespace sotto
