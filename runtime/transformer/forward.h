// The forward pass of GPT-2 (Radford et al. 2019) over a batch of consecutive tokens.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/linear.h"
#include "kernels/thread_pool.h"
#include "runtime/base/arena.h"
#include "runtime/base/status.h"
#include "runtime/model/model.h"
#include "runtime/transformer/kv_ring.h"

namespace sotto {

struct ForwardShape {
  uint32_t context_tokens = 0;
  uint32_t sink_tokens = 0;
  uint32_t batch_tokens = 0;
};

class Forward {
 public:
  // Takes buffers and the KV ring from `arena`, which may only measure.
  void lay_out(const ModelConfig& config, const ForwardShape& shape, Arena* arena);
  // After lay_out over real memory. `pool` may be null.
  Status init(const Model& model, ThreadPool* pool, Error* error);

  // Evaluates tokens at positions first_position, +1, ... (at most batch_tokens): their keys
  // and values enter the ring. With `want_logits`, logits() are those after the last one.
  // Stops between layers with kStopCancelled once `cancelled` is set, unless a slot has
  // been overwritten by then; nothing has happened in that case.
  Status evaluate(std::span<const int32_t> tokens, uint32_t first_position, bool want_logits,
                  const std::atomic<uint32_t>& cancelled);

  std::span<const float> logits() const { return {logits_, model_->config().vocabulary_size}; }

 private:
  enum Shape { kQkv, kAttentionOutput, kUp, kDown, kHead, kShapeCount };

  void embed(std::span<const int32_t> tokens, uint32_t first_position);
  void normalize(const NormView& norm, size_t rows);
  void attend(uint32_t layer, uint32_t first_position, size_t rows);
  void activate(size_t rows);
  void add_branch(size_t rows);
  void quantize(const float* x, size_t width, size_t rows);
  Status multiply(Shape shape, const LinearWeights& weights, size_t rows, float* y);
  Status evaluate_layer(uint32_t layer, uint32_t first_position, size_t rows);
  Status compute_logits(size_t last_row);

  const Model* model_ = nullptr;
  ThreadPool* pool_ = nullptr;
  KvRing ring_;
  uint32_t context_tokens_ = 0;
  float* hidden_ = nullptr;                  // (row, embedding): the residual stream
  float* branch_ = nullptr;                  // (row, embedding): what a sublayer adds to it
  float* wide_ = nullptr;                    // (row, 3 embedding or feed_forward)
  int8_t* quantized_ = nullptr;              // (row, embedding or feed_forward)
  RowQuantization* quantization_ = nullptr;  // (row)
  float* scores_ = nullptr;                  // (head, slot)
  float* logits_ = nullptr;                  // (vocabulary)
  uint8_t* operator_memory_ = nullptr;
  LinearOperator* operators_[kShapeCount] = {};
};

}  // namespace sotto
