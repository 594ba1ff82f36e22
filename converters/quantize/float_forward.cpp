#include "converters/quantize/float_forward.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numbers>
#include <stdexcept>
#include <thread>
#include <utility>

namespace sotto {
namespace {

// Runs body(i) for i in [0, count) on `thread_count` threads.
template <typename Body>
void for_each_index(size_t count, unsigned thread_count, const Body& body) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) body(i);
  };
  std::vector<std::jthread> threads;
  for (size_t i = 1; i < std::min<size_t>(thread_count, count); ++i) threads.emplace_back(work);
  work();
}

constexpr size_t kPanelRows = 4;
constexpr size_t kPanelOutputs = 8;
// GCC does not vectorize these sums well without explicit vector types.
using PanelOutputs [[gnu::vector_size(kPanelOutputs * sizeof(float))]] = float;

// Computes y (kPanelRows, kPanelOutputs) = x (kPanelRows, inputs) panel (inputs, kPanelOutputs).
void multiply_panel(const float* x, size_t inputs, const PanelOutputs* panel, float (&y)[kPanelRows][kPanelOutputs]) {
  PanelOutputs sums[kPanelRows] = {};
  for (size_t i = 0; i < inputs; ++i) {
    for (size_t row = 0; row < kPanelRows; ++row) sums[row] += x[row * inputs + i] * panel[i];
  }
  std::memcpy(y, sums, sizeof y);
}

// Rows of a batch for y = x W^T + b. x has whole groups of kPanelRows rows.
struct Rows {
  size_t count;         // number of tokens
  size_t padded_count;  // count rounded up to kPanelRows
  unsigned thread_count;
};

std::vector<float> linear(const Rows& rows, std::vector<float> x, const std::vector<float>& weights,
                          const std::vector<float>& biases) {
  const size_t inputs = x.size() / rows.count;
  const size_t outputs = weights.size() / inputs;
  x.resize(rows.padded_count * inputs);
  std::vector<float> y(rows.count * outputs);
  const size_t panel_count = (outputs + kPanelOutputs - 1) / kPanelOutputs;
  for_each_index(panel_count, rows.thread_count, [&](size_t panel_index) {
    const size_t first = panel_index * kPanelOutputs;
    const size_t width = std::min(kPanelOutputs, outputs - first);
    std::vector<PanelOutputs> panel(inputs);
    for (size_t o = 0; o < width; ++o) {
      for (size_t i = 0; i < inputs; ++i) {
        panel[i][o] = weights[(first + o) * inputs + i];
      }
    }
    for (size_t row = 0; row < rows.count; row += kPanelRows) {
      float sums[kPanelRows][kPanelOutputs];
      multiply_panel(&x[row * inputs], inputs, panel.data(), sums);
      for (size_t r = 0; r < std::min(kPanelRows, rows.count - row); ++r) {
        for (size_t o = 0; o < width; ++o) {
          const float bias = biases.empty() ? 0 : biases[first + o];
          y[(row + r) * outputs + first + o] = sums[r][o] + bias;
        }
      }
    }
  });
  return y;
}

std::vector<float> linear(const Rows& rows, const std::vector<float>& x, const FloatLinear& layer) {
  return linear(rows, x, layer.weights, layer.bias);
}

// Computes y = (x - mean) / sqrt(variance + epsilon) * gain + bias for each row (Ba et al. 2016).
std::vector<float> layer_norm(const Rows& rows, const std::vector<float>& x, const FloatNorm& norm, float epsilon) {
  const size_t n = norm.gain.size();
  std::vector<float> y(x.size());
  for (size_t row = 0; row < rows.count; ++row) {
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

// Computes x = exp(x - max) and divides by the sum, in place.
void softmax(std::span<float> x) {
  const float max = *std::max_element(x.begin(), x.end());
  float sum = 0;
  for (float& value : x) sum += value = std::exp(value - max);
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
    softmax(seen);
    float* out = &y[t * embedding + head * head_size];
    for (size_t s = 0; s <= t; ++s) {
      for (size_t d = 0; d < head_size; ++d) out[d] += weights[s] * values[s * stride + d];
    }
  }
}

std::vector<float> attention(const Rows& rows, const std::vector<float>& qkv, const ModelShape& shape) {
  std::vector<float> y(rows.count * shape.embedding_size);
  for_each_index(shape.head_count, rows.thread_count, [&](size_t head) {
    attend(rows, qkv, head, shape.embedding_size / shape.head_count, shape.embedding_size, y);
  });
  return y;
}

// Gaussian error linear units in both forms (Hendrycks and Gimpel 2016).
float gelu(float x, Activation activation) {
  if (activation == Activation::kGeluErf) {
    return x / 2 * (1 + std::erf(x / std::numbers::sqrt2_v<float>));
  }
  const float scale = std::sqrt(2 / std::numbers::pi_v<float>);
  return x / 2 * (1 + std::tanh(scale * (x + 0.044715f * x * x * x)));
}

std::vector<float> gelu(const Rows& rows, std::vector<float> x, Activation activation) {
  const size_t width = x.size() / rows.count;
  for_each_index(rows.count, rows.thread_count, [&](size_t row) {
    for (size_t i = row * width; i < (row + 1) * width; ++i) x[i] = gelu(x[i], activation);
  });
  return x;
}

std::vector<float> add(const std::vector<float>& x, std::vector<float> y) {
  for (size_t i = 0; i < x.size(); ++i) y[i] += x[i];
  return y;
}

FloatBlockActivations run_block(const Rows& rows, const FloatModel& model, const FloatLayer& layer,
                                const std::vector<float>& x) {
  FloatBlockActivations a;
  a.attention_input = layer_norm(rows, x, layer.attention_norm, model.norm_epsilon);
  a.queries_keys_values = linear(rows, a.attention_input, layer.attention_qkv);
  a.attention = attention(rows, a.queries_keys_values, model.shape);
  a.attention_projected = linear(rows, a.attention, layer.attention_output);
  a.attention_sum = add(x, a.attention_projected);
  a.feed_forward_input = layer_norm(rows, a.attention_sum, layer.feed_forward_norm, model.norm_epsilon);
  a.feed_forward_up = linear(rows, a.feed_forward_input, layer.feed_forward_up);
  a.feed_forward_hidden = gelu(rows, a.feed_forward_up, model.activation);
  a.feed_forward_down = linear(rows, a.feed_forward_hidden, layer.feed_forward_down);
  a.output = add(a.attention_sum, a.feed_forward_down);
  return a;
}

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

std::vector<float> float_forward(const FloatModel& model, std::span<const int32_t> tokens, unsigned thread_count,
                                 FloatActivations* activations) {
  check_tokens(model.shape, tokens);
  const size_t padded_count = (tokens.size() + kPanelRows - 1) / kPanelRows * kPanelRows;
  const Rows rows = {tokens.size(), padded_count, thread_count};

  const size_t n = model.shape.embedding_size;
  std::vector<float> x(tokens.size() * n);
  for (size_t t = 0; t < tokens.size(); ++t) {
    const float* token = &model.token_embedding[static_cast<size_t>(tokens[t]) * n];
    for (size_t i = 0; i < n; ++i) x[t * n + i] = token[i] + model.positions[t * n + i];
  }

  FloatActivations captured;
  if (activations != nullptr) captured.embedding = x;
  for (const FloatLayer& layer : model.layers) {
    FloatBlockActivations block = run_block(rows, model, layer, x);
    x = block.output;
    if (activations != nullptr) captured.blocks.push_back(std::move(block));
  }
  captured.final_norm = layer_norm(rows, x, model.final_norm, model.norm_epsilon);
  std::vector<float> logits = model.head ? linear(rows, captured.final_norm, *model.head)
                                         : linear(rows, captured.final_norm, model.token_embedding, {});
  if (activations != nullptr) *activations = std::move(captured);
  return logits;
}

}  // namespace sotto
