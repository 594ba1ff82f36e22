#include "converters/quantize/calibration.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <random>
#include <utility>

#include "converters/quantize/float_forward.h"
#include "converters/quantize/migration.h"

namespace sotto {
namespace {

// Damping of the error feedback (error_feedback.h). It is larger for tied heads, because their weights are also the
// embeddings, to which compensation only adds errors.
constexpr float kDamping = 0.01f;
constexpr float kTiedDamping = 0.1f;

void append(std::vector<float>& to, const std::vector<float>& values) {
  to.insert(to.end(), values.begin(), values.end());
}

void apply(const ChannelMap& map, std::vector<float>& x) {
  const size_t channels = map.scales.size();
  for (size_t i = 0; i < x.size(); ++i) x[i] = (x[i] - map.shifts[i % channels]) / map.scales[i % channels];
}

// Estimates how much an error of each query, key and value matters: adds noise to all queries, keys or values of a
// window and measures the change of each head's output.
std::vector<float> importance_of_qkv(const std::vector<float>& qkv, const ModelShape& shape, const FloatLinear& output,
                                     unsigned thread_count) {
  constexpr float kNoise = 0.02f;  // relative to the root mean square
  const size_t width = shape.embedding_size, head_size = width / shape.head_count;
  const size_t rows = qkv.size() / (3 * width);
  const std::vector<float> expected = float_attention(qkv, shape, thread_count);
  std::vector<double> output_powers(shape.head_count);
  for (size_t i = 0; i < output.weights.size(); ++i) {
    output_powers[i % width / head_size] += static_cast<double>(output.weights[i]) * output.weights[i];
  }
  std::mt19937 random(1);
  std::vector<float> importance(3 * width);
  for (size_t part = 0; part < 3; ++part) {
    std::vector<double> powers(shape.head_count);
    for (size_t row = 0; row < rows; ++row) {
      for (size_t i = 0; i < width; ++i) {
        const double value = qkv[(row * 3 + part) * width + i];
        powers[i / head_size] += value * value;
      }
    }
    std::vector<float> noisy = qkv;
    for (size_t row = 0; row < rows; ++row) {
      for (size_t i = 0; i < width; ++i) {
        const double rms = std::sqrt(powers[i / head_size] / static_cast<double>(rows * head_size));
        noisy[(row * 3 + part) * width + i] += static_cast<float>(random() % 2 == 0 ? kNoise * rms : -kNoise * rms);
      }
    }
    const std::vector<float> changed = float_attention(noisy, shape, thread_count);
    std::vector<double> changes(shape.head_count);
    for (size_t i = 0; i < changed.size(); ++i) {
      const double change = static_cast<double>(changed[i]) - expected[i];
      changes[i % width / head_size] += change * change;
    }
    for (size_t i = 0; i < width; ++i) {
      const size_t head = i / head_size;
      importance[part * width + i] =
          powers[head] > 0 ? static_cast<float>(changes[head] * output_powers[head] / powers[head]) : 0;
    }
  }
  return importance;
}

// Returns at most kRows rows at equal distances, which suffice for optimize_channels(); all rows would make it slow.
std::vector<float> some_rows(const std::vector<float>& x, size_t width) {
  constexpr size_t kRows = 1024;
  const size_t rows = x.size() / width;
  if (rows <= kRows) return x;
  std::vector<float> some;
  for (size_t i = 0; i < kRows; ++i) {
    const auto row = x.begin() + static_cast<ptrdiff_t>(i * rows / kRows * width);
    some.insert(some.end(), row, row + static_cast<ptrdiff_t>(width));
  }
  return some;
}

}  // namespace

TokenWindow random_tokens(const CheckpointInfo& info) {
  constexpr uint32_t kTokens = 64;
  std::mt19937 random(1);
  TokenWindow tokens;
  if (info.end_of_text_token >= 0) tokens.push_back(info.end_of_text_token);
  while (tokens.size() < std::min(kTokens, info.shape.position_count)) {
    tokens.push_back(static_cast<int32_t>(random() % info.shape.vocabulary_size));
  }
  return tokens;
}

Calibration::Calibration(const Checkpoint& checkpoint, std::span<const TokenWindow> windows, CalibrationEffort effort,
                         unsigned thread_count)
    : checkpoint_(checkpoint), effort_(effort), thread_count_(thread_count) {
  static_cast<CheckpointInfo&>(model_) = checkpoint.info();
  model_.positions = checkpoint.positions();
  model_.token_embedding = checkpoint.token_embedding();
  for (const TokenWindow& window : windows) states_.push_back(float_embedding(model_, window));
  model_.positions = {};
  model_.token_embedding = {};
}

// Folds outliers of a norm's output into the layer that reads it, and changes x, the layer's inputs, accordingly.
void Calibration::migrate(FloatNorm& norm, FloatLinear& layer, std::vector<float>& x,
                          std::span<const float> importance) const {
  const ChannelMap map = effort_ == CalibrationEffort::kFull
                             ? optimize_channels(some_rows(x, layer.inputs), layer, importance)
                             : balance_channels(x, std::vector<float>(layer.inputs), layer, importance);
  fold(map, norm, layer);
  apply(map, x);
}

std::optional<ErrorFeedback> Calibration::feedback(std::vector<float>& inputs, size_t width, float damping) const {
  if (effort_ != CalibrationEffort::kFull) return std::nullopt;
  return std::optional<ErrorFeedback>(std::in_place, std::move(inputs), width, damping, thread_count_);
}

CalibratedLayer Calibration::next_layer() {
  FloatLayer layer = checkpoint_.layer(next_layer_++);
  const ModelShape& shape = model_.shape;
  std::vector<float> qkv_inputs, output_inputs, up_inputs, down_inputs, qkv_importance;
  for (std::vector<float>& state : states_) {
    FloatBlockActivations block = float_block(model_, layer, state, thread_count_);
    state = std::move(block.output);
    append(qkv_inputs, block.attention_input);
    append(output_inputs, block.attention);
    append(up_inputs, block.feed_forward_input);
    append(down_inputs, block.feed_forward_hidden);
    if (qkv_importance.empty() && effort_ == CalibrationEffort::kFull) {
      qkv_importance = importance_of_qkv(block.queries_keys_values, shape, layer.attention_output, thread_count_);
    }
  }
  qkv_importance.resize(layer.attention_qkv.outputs, 1);
  migrate(layer.attention_norm, layer.attention_qkv, qkv_inputs, qkv_importance);
  const std::vector<float> up_importance(shape.feed_forward_size, 1);
  migrate(layer.feed_forward_norm, layer.feed_forward_up, up_inputs, up_importance);
  const size_t width = shape.embedding_size;
  return {std::move(layer), feedback(qkv_inputs, width, kDamping), feedback(output_inputs, width, kDamping),
          feedback(up_inputs, width, kDamping), feedback(down_inputs, shape.feed_forward_size, kDamping)};
}

CalibratedHead Calibration::head() {
  assert(next_layer_ == model_.shape.layer_count);
  const bool is_tied = checkpoint_.info().head_kind == HeadKind::kTied;
  const size_t width = model_.shape.embedding_size;
  FloatNorm norm = checkpoint_.final_norm();
  FloatLinear head;
  if (is_tied) {
    head = {model_.shape.embedding_size, model_.shape.vocabulary_size, checkpoint_.token_embedding(), {}};
  } else {
    head = checkpoint_.head();
  }
  std::vector<float> inputs;
  for (const std::vector<float>& state : states_) append(inputs, float_layer_norm(state, norm, model_.norm_epsilon));
  if (!is_tied) {
    migrate(norm, head, inputs, std::vector<float>(head.outputs, 1));
  } else if (effort_ == CalibrationEffort::kFull) {
    const ChannelMap map = {std::vector<float>(width, 1), middles_of_channels(inputs, width)};
    fold(map, norm, head);
    apply(map, inputs);
  }
  return {std::move(norm), std::move(head), feedback(inputs, width, is_tied ? kTiedDamping : kDamping)};
}

}  // namespace sotto
