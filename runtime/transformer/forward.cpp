#include "runtime/transformer/forward.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace sotto {

uint32_t TokenRow::slot() const {
  if (window.empty()) return forward->ring().slot_of(position);
  return window.back().first + window.back().count - 1;
}

void Forward::layout(Arena& arena, const ModelConfig& config, const ResolvedSessionParams& params,
                     const StateOutputs& outputs) {
  outputs_ = outputs;
  context_tokens_ = params.context_tokens;
  vocabulary_size_ = config.vocabulary_size;
  logit_row_count_ = std::max(size_t{params.sequence_count}, size_t{params.draft_tokens} + 1);
  visible_count_ = size_t{params.context_tokens} + params.sequence_tokens;
  const size_t rows = std::max(size_t{params.batch_tokens}, logit_row_count_);
  row_capacity_ = rows;
  const size_t width = config.embedding_size;
  const size_t inner = config.feed_forward_size;
  ring_.layout(arena, {config.layer_count, config.head_count, config.head_size, params.context_tokens,
                       params.sink_tokens, params.sequence_count * params.sequence_tokens});
  hidden_ = arena.take<float>(rows * width);
  narrow_ = arena.take<float>(rows * width);
  wide_ = arena.take<float>(rows * std::max(3 * width, inner));
  quantized_size_ = rows * std::max(width, inner) + kActivationPadding;
  // The quantized activations are not in use during attention, so its scores share their memory.
  arena.overlay([&](Arena& part) { quantized_ = part.take<int8_t>(quantized_size_); },
                [&](Arena& part) { block_scores_ = part.take<float>(quantized_size_ / sizeof(float)); });
  quantization_ = arena.take<RowQuantization>(rows);
  scores_ = arena.take<float>(saturating_product(config.head_count, visible_count_));
  logits_ = arena.take<float>(logit_row_count_ * vocabulary_size_);
}

void Forward::init(const Model& model, ThreadPool* pool) {
  model_ = &model;
  pool_ = pool;
  linear_kernels_ = linear_kernels(model.isa());
}

TokenRow Forward::row_of(const TokenBatch& batch, size_t index) {
  if (!batch.rows.empty()) return batch.rows[index];
  return {this, batch.tokens[index], batch.first_position + static_cast<uint32_t>(index)};
}

Status Forward::evaluate(const TokenBatch& batch, const Cancellation& cancellation) {
  const uint32_t layer_count = std::min(batch.layer_count, model_->config().layer_count);
  const bool overwrites = batch.first_position + batch.tokens.size() > context_tokens_;
  if (cancellation.is_requested()) return Status::kStopCancelled;
  embed(batch);
  if (layer_count > 0) normalize(model_->layer(0).attention_norm, batch.row_count());
  for (uint32_t layer = 0; layer < layer_count; ++layer) {
    if (!overwrites && cancellation.is_requested()) return Status::kStopCancelled;
    output_layer_states(layer, batch);
    evaluate_layer(layer, layer + 1 == layer_count, batch);
  }
  if (layer_count == model_->config().layer_count) output_final_states(batch);
  return Status::kOk;
}

void Forward::evaluate_streams(std::span<const TokenRow> rows, ThreadPool* pool) {
  assert(!rows.empty() && rows.size() <= row_capacity_ && rows[0].forward == this);
  ThreadPool* const own_pool = std::exchange(pool_, pool);
  // A batch is not cancelled, because each stream has a cancellation of its own.
  const Cancellation never;
  [[maybe_unused]] const Status status = evaluate({.rows = rows}, never);
  assert(status == Status::kOk);
  compute_stream_logits(rows);
  pool_ = own_pool;
  const size_t width = model_->config().embedding_size;
  for (size_t row = 1; row < rows.size(); ++row) std::copy_n(hidden_ + row * width, width, rows[row].forward->hidden_);
}

// Computes the logits of each row in the memory of its own stream, one part of the vocabulary at a time for all rows,
// so that the weights of the head are read only once.
void Forward::compute_stream_logits(std::span<const TokenRow> rows) {
  const size_t width = model_->config().embedding_size;
  const LinearWeights& head = model_->head();
  quantize(final_norm(hidden_, width, rows.size()), width, rows.size());
  const size_t part_size = row_capacity_ * width / rows.size() / kOutputAlignment * kOutputAlignment;
  if (rows.size() == 1 || part_size == 0) {
    for (size_t row = 0; row < rows.size(); ++row) {
      run_linear(linear_kernels_, head, 1, quantized_ + row * width, quantization_ + row, rows[row].forward->logits_,
                 wide_, pool_);
    }
    return;
  }
  for (size_t first = 0; first < vocabulary_size_; first += part_size) {
    const size_t count = std::min(part_size, vocabulary_size_ - first);
    const LinearWeights part = select_outputs(head, static_cast<uint32_t>(first), static_cast<uint32_t>(count));
    float* const logits = narrow_;  // (row, token of the part)
    multiply(part, rows.size(), logits);
    for (size_t row = 0; row < rows.size(); ++row) {
      std::copy_n(logits + row * count, count, rows[row].forward->logits_ + first);
    }
  }
}

// Copies the states before a layer. Only the stream of this forward pass can have more than one row in a batch.
void Forward::output_layer_states(uint32_t layer, const TokenBatch& batch) {
  const size_t width = model_->config().embedding_size;
  for (size_t row = 0; row < batch.row_count(); ++row) {
    const Forward& stream = *row_of(batch, row).forward;
    if (stream.outputs_.layers == nullptr) continue;
    stream.outputs_.layers->store(layer, &stream == this ? row : 0, hidden_ + row * width);
  }
}

void Forward::output_final_states(const TokenBatch& batch) {
  const size_t width = model_->config().embedding_size;
  const float* states = nullptr;  // (row, embedding)
  for (size_t row = 0; row < batch.row_count(); ++row) {
    const TokenRow in = row_of(batch, row);
    HiddenHistory* const history = in.forward->outputs_.history;
    if (history == nullptr) continue;
    if (states == nullptr) states = final_norm(hidden_, width, batch.row_count());
    history->store(in.slot(), states + row * width);
  }
}

// Computes two sublayers:
//   x += W_o attention(q, k, v), where (q, k, v) = W_qkv norm(x)
//   x += W_down activation(W_up norm(x))
// Each step that changes x also computes the next norm of x, so the first norm is already in quantized_. The table
// gives the contents of the buffers after each step; parentheses mark memory that the step uses only while it runs.
//
//   step               | wide_      | narrow_   | quantized_
//   -------------------|------------|-----------|-----------
//   multiply by W_qkv  | q, k, v    | (scratch) | norm(x)
//   attend             | q, k, v    | attention | (scores)
//   quantize           |            | attention | attention
//   multiply by W_o    | (scratch)  | y         | attention
//   add and normalize  |            | norm(x)   | norm(x)
//   multiply by W_up   | units      | (scratch) | norm(x)
//   activate           | activation |           | activation
//   multiply by W_down | (scratch)  | y         | activation
//   add and normalize  |            | norm(x)   | norm(x)
void Forward::evaluate_layer(uint32_t index, bool is_last, const TokenBatch& batch) {
  const LayerView& layer = model_->layer(index);
  const size_t rows = batch.row_count();
  float* const y = narrow_;

  float* const projections = wide_;
  float* const attention = narrow_;
  multiply(layer.attention_qkv, rows, projections);
  attend({index, batch, projections, attention});
  quantize(attention, model_->config().embedding_size, rows);
  multiply(layer.attention_output, rows, y);
  add_and_normalize(y, layer.feed_forward_norm, rows);

  float* const units = wide_;
  multiply(layer.feed_forward_up, rows, units);
  activate(units, rows);
  multiply(layer.feed_forward_down, rows, y);
  if (is_last) return add(y, rows);
  add_and_normalize(y, model_->layer(index + 1).attention_norm, rows);
}

void Forward::compute_logits(size_t first_row, size_t count) {
  assert(count <= logit_row_count_);
  const size_t width = model_->config().embedding_size;
  apply_head(HeadInput::kNorm, hidden_ + first_row * width, width, count, logits_);
}

void Forward::compute_allowed_logits(size_t row, const TokenMask& mask) {
  const size_t width = model_->config().embedding_size;
  quantize(final_norm(hidden_ + row * width, width, 1), width, 1);
  run_linear_outputs(linear_kernels_, model_->head(), mask.words, quantized_, quantization_[0], logits_, wide_);
}

bool Forward::should_restrict_logits(const TokenMask& mask) const {
  constexpr size_t kRestrictDivisor = 128;  // run_linear_outputs() is faster for up to about one percent of the outputs
  if (mask.allows_all()) return false;
  size_t count = 0;
  for (size_t i = 0; i < TokenMask::word_count(mask.token_count); ++i) {
    count += static_cast<size_t>(std::popcount(mask.word(i)));
  }
  return count <= std::max<size_t>(mask.token_count / kRestrictDivisor, 1);
}

std::span<const float> Forward::final_states(size_t first_row, size_t count) {
  const size_t width = model_->config().embedding_size;
  return {final_norm(hidden_ + first_row * width, width, count), count * width};
}

// Computes logits = W norm(x) + b or W x, for at most row_capacity_ states at a time. All kernels add the bias, so W x
// is scaled by a power of two first: the bias then vanishes in rounding.
void Forward::apply_head(HeadInput input, const float* states, size_t stride, size_t count, float* logits) {
  constexpr float kScale = 0x1p40f;
  const size_t width = model_->config().embedding_size;
  for (size_t done = 0; done < count;) {
    const size_t rows = std::min(count - done, row_capacity_);
    const float* const x = states + done * stride;
    float* const y = logits + done * vocabulary_size_;
    if (input == HeadInput::kNorm) {
      final_norm(x, stride, rows);
    } else {
      for (size_t row = 0; row < rows; ++row) std::copy_n(x + row * stride, width, narrow_ + row * width);
    }
    quantize(narrow_, width, rows);
    if (input == HeadInput::kState) {
      for (size_t row = 0; row < rows; ++row) quantization_[row].scale *= kScale;
    }
    multiply(model_->head(), rows, y);
    if (input == HeadInput::kState) {
      for (size_t i = 0; i < rows * vocabulary_size_; ++i) y[i] *= 1 / kScale;
    }
    done += rows;
  }
}

// Returns the final norm of rows that begin `stride` floats apart, as (row, embedding), in narrow_.
const float* Forward::final_norm(const float* x, size_t stride, size_t rows) {
  const ModelConfig& config = model_->config();
  const NormView& norm = model_->final_norm();
  const size_t width = config.embedding_size;
  parallel_for(pool_, rows, [&](size_t row) {
    model_->kernels().layer_norm(x + row * stride, norm.gain, norm.bias, config.norm_epsilon, width,
                                 narrow_ + row * width);
  });
  return narrow_;
}

void Forward::embed(const TokenBatch& batch) {
  const size_t width = model_->config().embedding_size;
  const LinearWeights& table = model_->token_embedding();
  parallel_for(pool_, batch.row_count(), [&](size_t row) {
    const TokenRow in = row_of(batch, row);
    const float* const position = model_->positions() + in.position * width;
    float* const hidden = hidden_ + row * width;
    if (batch.embeddings != nullptr) {
      std::copy_n(batch.embeddings + row * width, width, hidden);
      return model_->kernels().add(position, width, hidden);
    }
    embed_row(model_->kernels(), table, static_cast<size_t>(in.token), position, quantized_ + row * width, hidden);
  });
}

// Computes attention.output = attention over the ring, and stores the keys and values of the rows in it.
void Forward::attend(const Attention& attention) {
  const size_t rows = attention.batch.row_count();
  const size_t block = attention_block(attention.batch);
  if (block > 1) {
    parallel_for(pool_, rows, [&](size_t row) {
      for (uint32_t head = 0; head < model_->config().head_count; ++head) store_row(attention, head, row);
    });
  }
  parallel_for(pool_, model_->config().head_count, [&](size_t index) {
    const auto head = static_cast<uint32_t>(index);
    if (block > 1) return attend_in_blocks(attention, head, block);
    // The rows are processed one at a time, because the key of a row may overwrite a slot that the previous row attends
    // to.
    for (size_t row = 0; row < rows; ++row) {
      store_row(attention, head, row);
      attend_row(attention, head, row);
    }
  });
}

// Stores the key and the value of a row in the ring.
void Forward::store_row(const Attention& attention, uint32_t head, size_t row) {
  const ModelConfig& config = model_->config();
  const size_t width = config.embedding_size;
  const float* key = attention.projections + (row * 3 + 1) * width + head * config.head_size;
  const TokenRow in = row_of(attention.batch, row);
  in.forward->ring_.store(model_->kernels(), attention.layer, head, in.slot(), key, key + width);
}

// Returns how many rows one attention call processes: as many as block_scores_ has scores for, but only one if the rows
// are not consecutive tokens of a stream or the batch overwrites slots.
size_t Forward::attention_block(const TokenBatch& batch) const {
  const size_t end = batch.first_position + batch.row_count();
  if (batch.row_count() == 1 || batch.tokens.empty() || end > context_tokens_) return 1;
  const size_t heads = pool_ == nullptr ? 1 : model_->config().head_count;
  const size_t group = attention_score_count(1, end) * sizeof(float);
  const size_t rows = quantized_size_ / (heads * group) * kAttentionGroupRows;
  return std::clamp<size_t>(rows, 1, kAttentionRows);
}

// Computes attention for `block` rows per call. The keys and values of all rows are already in the ring.
void Forward::attend_in_blocks(const Attention& attention, uint32_t head, size_t block) {
  const TokenBatch& batch = attention.batch;
  const ModelConfig& config = model_->config();
  const size_t width = config.embedding_size;
  const size_t end = batch.first_position + batch.row_count();
  // With one thread, all heads share one part of the scores.
  float* scores = block_scores_ + (pool_ == nullptr ? 0 : head * attention_score_count(block, end));
  for (size_t row = 0; row < batch.row_count(); row += block) {
    AttentionRowsArgs rows = {};
    rows.queries = attention.projections + row * 3 * width + head * config.head_size;
    rows.query_stride = 3 * width;
    rows.row_count = std::min(block, batch.row_count() - row);
    rows.scores = scores;
    rows.outputs = attention.output + row * width + head * config.head_size;
    rows.output_stride = width;
    ring_.attend_rows(model_->kernels(), attention.layer, head, row_of(batch, row).position, rows);
  }
}

void Forward::attend_row(const Attention& attention, uint32_t head, size_t row) {
  const ModelConfig& config = model_->config();
  const size_t width = config.embedding_size;
  const TokenRow in = row_of(attention.batch, row);
  const Forward& stream = *in.forward;
  SlotWindow window;
  if (in.window.empty()) window = stream.ring_.window_of(in.position);
  // With one thread, all heads share one array of scores, so that it stays in the cache.
  float* scores = stream.scores_ + (pool_ == nullptr ? 0 : head * stream.visible_count_);
  stream.ring_.attend(model_->kernels(), attention.layer, head, in.window.empty() ? window.view() : in.window,
                      attention.projections + row * 3 * width + head * config.head_size, scores,
                      attention.output + row * width + head * config.head_size);
}

// Computes x += y.
void Forward::add(const float* y, size_t rows) {
  parallel_for(pool_, rows, [&](size_t row) { add_row(y, row); });
}

void Forward::add_row(const float* y, size_t row) {
  const size_t width = model_->config().embedding_size;
  model_->kernels().add(y + row * width, width, hidden_ + row * width);
}

// Computes quantized = norm(x).
void Forward::normalize(const NormView& norm, size_t rows) {
  parallel_for(pool_, rows, [&](size_t row) { normalize_row(norm, row); });
}

void Forward::normalize_row(const NormView& norm, size_t row) {
  const ModelConfig& config = model_->config();
  const Kernels& kernels = model_->kernels();
  const size_t width = config.embedding_size;
  float* const normalized = narrow_ + row * width;
  kernels.layer_norm(hidden_ + row * width, norm.gain, norm.bias, config.norm_epsilon, width, normalized);
  kernels.quantize_row(normalized, width, quantized_ + row * width, &quantization_[row]);
}

// Computes x += y, and then quantized = norm(x). `y` may be narrow_: each row is added before the norm overwrites it.
void Forward::add_and_normalize(const float* y, const NormView& norm, size_t rows) {
  parallel_for(pool_, rows, [&](size_t row) {
    add_row(y, row);
    normalize_row(norm, row);
  });
}

// Computes quantized = activation(units), where units is (row, feed_forward). Overwrites the units.
void Forward::activate(float* units, size_t rows) {
  const ModelConfig& config = model_->config();
  const Kernels& kernels = model_->kernels();
  const size_t inner = config.feed_forward_size;
  parallel_for(pool_, rows, [&](size_t row) {
    float* const row_units = units + row * inner;
    kernels.activate(config.activation, row_units, inner);
    kernels.quantize_row(row_units, inner, quantized_ + row * inner, &quantization_[row]);
  });
}

// Computes quantized = values, where values is (row, width).
void Forward::quantize(const float* values, size_t width, size_t rows) {
  parallel_for(pool_, rows, [&](size_t row) {
    model_->kernels().quantize_row(values + row * width, width, quantized_ + row * width, &quantization_[row]);
  });
}

// Computes y = weights * quantized. The scratch memory is wide_, or narrow_ if y is wide_: its contents have already
// been quantized or stored in the ring.
void Forward::multiply(const LinearWeights& weights, size_t rows, float* y) {
  assert(linear_scratch_size(weights, rows) <= rows * weights.inputs * sizeof(float));
  assert(y != wide_ || weights.inputs == model_->config().embedding_size);
  float* const scratch = y == wide_ ? narrow_ : wide_;
  run_linear(linear_kernels_, weights, rows, quantized_, quantization_, y, scratch, pool_);
}

}  // namespace sotto
