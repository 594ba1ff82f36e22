#include "converters/quantize/float_forward.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "converters/quantize/matrix.h"
#include "converters/quantize/parallel.h"
#include "kernels/kernels.h"

namespace sotto {
namespace {

// Returns exp, GELU and other functions. Unlike those of C libraries, they give the same bits on every machine.
const Kernels& elementary_functions() { return *find_kernels(Isa::kReference); }

// A batch of activations with one row per token.
struct Rows {
  size_t count;
  unsigned thread_count;
};

std::vector<float> linear(const Rows& rows, const std::vector<float>& x, const FloatLinear& layer) {
  return multiply(x, rows.count, layer.weights, layer.bias, rows.thread_count);
}

// Computes softmax(x) in place. Subtracting the maximum avoids overflow.
void softmax(const Kernels& kernels, std::span<float> x) {
  const float max = *std::max_element(x.begin(), x.end());
  const float sum = kernels.exp_shifted(x.data(), x.size(), max, x.data());
  for (float& value : x) value /= sum;
}

// Computes causal attention of one head: softmax(Q K^T / sqrt(head_size)) V (Vaswani et al. 2017). qkv is (token, 3
// embedding), y is (token, embedding).
void attend(const Rows& rows, const std::vector<float>& qkv, size_t head, size_t head_size, size_t embedding,
            std::vector<float>& y) {
  const size_t stride = 3 * embedding;
  const float* queries = &qkv[head * head_size];
  const float* keys = queries + embedding;
  const float* values = keys + embedding;
  std::vector<float> keys_by_dimension(head_size * rows.count);  // (dimension, token)
  for (size_t t = 0; t < rows.count; ++t) {
    for (size_t d = 0; d < head_size; ++d) {
      keys_by_dimension[d * rows.count + t] = keys[t * stride + d];
    }
  }
  const float scale = 1 / std::sqrt(static_cast<float>(head_size));
  const Kernels& kernels = elementary_functions();
  std::vector<float> weights(rows.count);
  for (size_t t = 0; t < rows.count; ++t) {
    const std::span<float> seen(weights.data(), t + 1);
    std::fill(seen.begin(), seen.end(), 0.0f);
    for (size_t d = 0; d < head_size; ++d) {
      const float query = queries[t * stride + d];
      const float* key = &keys_by_dimension[d * rows.count];
      for (size_t s = 0; s <= t; ++s) weights[s] += query * key[s];
    }
    for (float& weight : seen) weight *= scale;
    softmax(kernels, seen);
    float* out = &y[t * embedding + head * head_size];
    for (size_t s = 0; s <= t; ++s) {
      for (size_t d = 0; d < head_size; ++d) out[d] += weights[s] * values[s * stride + d];
    }
  }
}

std::vector<float> activate(const Rows& rows, std::vector<float> x, Activation activation) {
  const Kernels& kernels = elementary_functions();
  const size_t width = x.size() / rows.count;
  for_each_index(rows.count, rows.thread_count,
                 [&](size_t row) { kernels.activate(activation, &x[row * width], width); });
  return x;
}

std::vector<float> add(const std::vector<float>& x, std::vector<float> y) {
  for (size_t i = 0; i < x.size(); ++i) y[i] += x[i];
  return y;
}

}  // namespace

std::vector<float> float_layer_norm(const std::vector<float>& x, const FloatNorm& norm, float epsilon) {
  const size_t n = norm.gain.size();
  std::vector<float> y(x.size());
  for (size_t row = 0; row < x.size() / n; ++row) {
    const float* in = &x[row * n];
    double mean = 0;
    for (size_t i = 0; i < n; ++i) mean += in[i];
    mean /= static_cast<double>(n);
    double variance = 0;
    for (size_t i = 0; i < n; ++i) variance += (in[i] - mean) * (in[i] - mean);
    const double inverse = 1 / std::sqrt(variance / static_cast<double>(n) + epsilon);
    for (size_t i = 0; i < n; ++i) {
      y[row * n + i] = static_cast<float>((in[i] - mean) * inverse) * norm.gain[i] + norm.bias[i];
    }
  }
  return y;
}

std::vector<float> float_attention(const std::vector<float>& qkv, const ModelShape& shape, unsigned thread_count) {
  const Rows rows = {qkv.size() / 3 / shape.embedding_size, thread_count};
  std::vector<float> y(rows.count * shape.embedding_size);
  for_each_index(shape.head_count, thread_count, [&](size_t head) {
    attend(rows, qkv, head, shape.embedding_size / shape.head_count, shape.embedding_size, y);
  });
  return y;
}

FloatBlockActivations float_block(const FloatModel& model, const FloatLayer& layer, const std::vector<float>& x,
                                  unsigned thread_count) {
  const Rows rows = {x.size() / model.shape.embedding_size, thread_count};
  FloatBlockActivations a;
  a.attention_input = float_layer_norm(x, layer.attention_norm, model.norm_epsilon);
  a.queries_keys_values = linear(rows, a.attention_input, layer.attention_qkv);
  a.attention = float_attention(a.queries_keys_values, model.shape, thread_count);
  a.attention_projected = linear(rows, a.attention, layer.attention_output);
  a.attention_sum = add(x, a.attention_projected);
  a.feed_forward_input = float_layer_norm(a.attention_sum, layer.feed_forward_norm, model.norm_epsilon);
  a.feed_forward_up = linear(rows, a.feed_forward_input, layer.feed_forward_up);
  a.feed_forward_hidden = activate(rows, a.feed_forward_up, model.activation);
  a.feed_forward_down = linear(rows, a.feed_forward_hidden, layer.feed_forward_down);
  a.output = add(a.attention_sum, a.feed_forward_down);
  return a;
}

namespace {

void check_tokens(const ModelShape& shape, std::span<const int32_t> tokens) {
  if (tokens.empty() || tokens.size() > shape.position_count) {
    throw std::invalid_argument("a window must hold between 1 token and the model's positions");
  }
  for (const int32_t token : tokens) {
    if (token < 0 || static_cast<uint32_t>(token) >= shape.vocabulary_size) {
      throw std::invalid_argument("a token is outside the vocabulary");
    }
  }
}

}  // namespace

std::vector<float> float_embedding(const FloatModel& model, std::span<const int32_t> tokens) {
  check_tokens(model.shape, tokens);
  const size_t n = model.shape.embedding_size;
  std::vector<float> x(tokens.size() * n);
  for (size_t t = 0; t < tokens.size(); ++t) {
    const float* token = &model.token_embedding[static_cast<size_t>(tokens[t]) * n];
    for (size_t i = 0; i < n; ++i) x[t * n + i] = token[i] + model.positions[t * n + i];
  }
  return x;
}

std::vector<float> float_forward(const FloatModel& model, std::span<const int32_t> tokens, unsigned thread_count,
                                 FloatActivations* activations) {
  const Rows rows = {tokens.size(), thread_count};

  std::vector<float> x = float_embedding(model, tokens);

  FloatActivations captured;
  if (activations != nullptr) captured.embedding = x;
  for (const FloatLayer& layer : model.layers) {
    FloatBlockActivations block = float_block(model, layer, x, thread_count);
    x = block.output;
    if (activations != nullptr) captured.blocks.push_back(std::move(block));
  }
  captured.final_norm = float_layer_norm(x, model.final_norm, model.norm_epsilon);
  std::vector<float> logits =
      model.head ? linear(rows, captured.final_norm, *model.head)
                 : multiply(captured.final_norm, tokens.size(), model.token_embedding, {}, thread_count);
  if (activations != nullptr) *activations = std::move(captured);
  return logits;
}

}  // namespace sotto
