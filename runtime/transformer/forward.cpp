#include "runtime/transformer/forward.h"

#include <algorithm>

namespace sotto {

void Forward::lay_out(const ModelConfig& config, const ForwardShape& shape, Arena* arena) {
  const size_t rows = shape.batch_tokens;
  const size_t width = config.embedding_size;
  const size_t inner = config.feed_forward_size;
  context_tokens_ = shape.context_tokens;
  ring_.lay_out({config.layer_count, config.head_count, config.head_size, shape.context_tokens,
                 shape.sink_tokens},
                arena);
  hidden_ = arena->take<float>(rows * width);
  branch_ = arena->take<float>(rows * width);
  wide_ = arena->take<float>(rows * std::max(3 * width, inner));
  quantized_ = arena->take<int8_t>(rows * std::max(width, inner) + kActivationPadding);
  quantization_ = arena->take<RowQuantization>(rows + kQuantizationPadding);
  scores_ = arena->take<float>(size_t{config.head_count} * shape.context_tokens);
  logits_ = arena->take<float>(config.vocabulary_size);
  operator_memory_ = arena->take<uint8_t>(kShapeCount * kLinearOperatorBytes);
}

Status Forward::init(const Model& model, ThreadPool* pool, Error* error) {
  model_ = &model;
  pool_ = pool;
  const ModelConfig& config = model.config();
  const uint32_t width = config.embedding_size;
  const uint32_t inner = config.feed_forward_size;
  const struct {
    uint32_t inputs, outputs;
  } shapes[kShapeCount] = {{width, 3 * width},
                           {width, width},
                           {width, inner},
                           {inner, width},
                           {width, config.vocabulary_size}};
  for (size_t i = 0; i < kShapeCount; ++i) {
    operators_[i] = create_linear_operator(shapes[i].inputs, shapes[i].outputs, model.isa(),
                                           operator_memory_ + i * kLinearOperatorBytes);
    if (operators_[i] == nullptr) {
      return fail(error, Status::kInternal, "creating a linear operator failed");
    }
  }
  return Status::kOk;
}

Status Forward::evaluate(std::span<const int32_t> tokens, uint32_t first_position, bool want_logits,
                         const std::atomic<uint32_t>& cancelled) {
  const size_t rows = tokens.size();
  const bool overwrites = first_position + rows > context_tokens_;
  embed(tokens, first_position);
  for (uint32_t layer = 0; layer < model_->config().layer_count; ++layer) {
    if (!overwrites && cancelled.load(std::memory_order_relaxed) != 0) {
      return Status::kStopCancelled;
    }
    SOTTO_TRY(evaluate_layer(layer, first_position, rows));
  }
  return want_logits ? compute_logits(rows - 1) : Status::kOk;
}

// x += attention(norm(x)); x += feed_forward(norm(x))
Status Forward::evaluate_layer(uint32_t index, uint32_t first_position, size_t rows) {
  const LayerView& layer = model_->layer(index);

  normalize(layer.attention_norm, rows);
  SOTTO_TRY(multiply(kQkv, layer.attention_qkv, rows, wide_));
  attend(index, first_position, rows);
  quantize(branch_, model_->config().embedding_size, rows);
  SOTTO_TRY(multiply(kAttentionOutput, layer.attention_output, rows, branch_));
  add_branch(rows);

  normalize(layer.feed_forward_norm, rows);
  SOTTO_TRY(multiply(kUp, layer.feed_forward_up, rows, wide_));
  activate(rows);
  SOTTO_TRY(multiply(kDown, layer.feed_forward_down, rows, branch_));
  add_branch(rows);
  return Status::kOk;
}

// logits = head(norm(x)) of one row
Status Forward::compute_logits(size_t row) {
  const ModelConfig& config = model_->config();
  const Kernels& kernels = model_->kernels();
  const NormView& norm = model_->final_norm();
  kernels.layer_norm(hidden_ + row * config.embedding_size, norm.gain, norm.bias,
                     config.norm_epsilon, config.embedding_size, branch_);
  quantize(branch_, config.embedding_size, 1);
  return multiply(kHead, model_->head(), 1, logits_);
}

void Forward::embed(std::span<const int32_t> tokens, uint32_t first_position) {
  const size_t width = model_->config().embedding_size;
  const LinearWeights& table = model_->token_embedding();
  parallel_for(pool_, tokens.size(), [&](size_t row) {
    const auto token = static_cast<size_t>(tokens[row]);
    model_->kernels().embed(table.rows + token * width, table.scales[token],
                            model_->positions() + (first_position + row) * width, width,
                            hidden_ + row * width);
  });
}

// quantized = norm(hidden)
void Forward::normalize(const NormView& norm, size_t rows) {
  const ModelConfig& config = model_->config();
  const Kernels& kernels = model_->kernels();
  const size_t width = config.embedding_size;
  parallel_for(pool_, rows, [&](size_t row) {
    float* normalized = branch_ + row * width;
    kernels.layer_norm(hidden_ + row * width, norm.gain, norm.bias, config.norm_epsilon, width,
                       normalized);
    kernels.quantize_row(normalized, width, quantized_ + row * width, &quantization_[row]);
  });
}

// branch = attention over the ring; wide holds (row, {query, key, value}, head, head_size).
// Rows are taken in order within a head: a key may overwrite the slot that just left the
// window, and the next row is the first not to see it.
void Forward::attend(uint32_t layer, uint32_t first_position, size_t rows) {
  const ModelConfig& config = model_->config();
  const Kernels& kernels = model_->kernels();
  const size_t width = config.embedding_size;
  parallel_for(pool_, config.head_count, [&](size_t head) {
    const auto h = static_cast<uint32_t>(head);
    for (size_t row = 0; row < rows; ++row) {
      const auto position = static_cast<uint32_t>(first_position + row);
      const float* query = wide_ + row * 3 * width + head * config.head_size;
      ring_.store(kernels, layer, h, ring_.slot_of(position), query + width, query + 2 * width);
      ring_.attend(kernels, layer, h, ring_.window_of(position), query,
                   scores_ + head * context_tokens_,
                   branch_ + row * width + head * config.head_size);
    }
  });
}

// quantized = gelu(wide)
void Forward::activate(size_t rows) {
  const ModelConfig& config = model_->config();
  const Kernels& kernels = model_->kernels();
  const size_t inner = config.feed_forward_size;
  const auto gelu =
      config.activation == ActivationKind::kGeluTanh ? kernels.gelu_tanh : kernels.gelu_erf;
  parallel_for(pool_, rows, [&](size_t row) {
    float* x = wide_ + row * inner;
    gelu(x, inner);
    kernels.quantize_row(x, inner, quantized_ + row * inner, &quantization_[row]);
  });
}

// hidden += branch
void Forward::add_branch(size_t rows) {
  const size_t width = model_->config().embedding_size;
  parallel_for(pool_, rows, [&](size_t row) {
    model_->kernels().add(branch_ + row * width, width, hidden_ + row * width);
  });
}

void Forward::quantize(const float* x, size_t width, size_t rows) {
  parallel_for(pool_, rows, [&](size_t row) {
    model_->kernels().quantize_row(x + row * width, width, quantized_ + row * width,
                                   &quantization_[row]);
  });
}

Status Forward::multiply(Shape shape, const LinearWeights& weights, size_t rows, float* y) {
  return run_linear(operators_[shape], weights, rows, quantized_, quantization_, y, pool_)
             ? Status::kOk
             : Status::kInternal;
}

}  // namespace sotto
