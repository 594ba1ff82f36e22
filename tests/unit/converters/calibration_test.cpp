// Tests outlier migration and error feedback on inputs whose channels are correlated and differ in range.
#include "converters/quantize/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <span>

#include "converters/model_writer.h"
#include "converters/quantize/error_feedback.h"
#include "converters/quantize/float_forward.h"
#include "converters/quantize/int4.h"
#include "converters/quantize/int8.h"
#include "converters/quantize/matrix.h"
#include "converters/quantize/migration.h"
#include "converters/readers/synthetic.h"
#include "kernels/linear/int4.h"

namespace sotto {
namespace {

ModelShape tiny_shape(uint32_t embedding_size) {
  return {.vocabulary_size = 50,
          .position_count = 24,
          .embedding_size = embedding_size,
          .head_count = 3,
          .feed_forward_size = 40,
          .layer_count = 2};
}

constexpr size_t kRows = 200, kInputs = 70, kOutputs = 21;

std::vector<float> draw(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random() % 4096) / 2048 - 1;
  return values;
}

FloatLinear draw_layer(uint32_t seed) {
  return {kInputs, kOutputs, draw(kInputs * kOutputs, seed), draw(kOutputs, seed + 1)};
}

// Each row follows a few common directions, as hidden states do, and has means that are not 0.
std::vector<float> draw_inputs() {
  const std::vector<float> x = multiply(draw(kRows * 8, 1), kRows, draw(kInputs * 8, 2), {}, 1);
  std::vector<float> inputs = draw(x.size(), 3);
  for (size_t i = 0; i < x.size(); ++i) inputs[i] = x[i] + 0.2f * inputs[i] + static_cast<float>(i % kInputs % 5);
  return inputs;
}

double squared_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - b[i], 2);
  return sum;
}

std::vector<float> outputs_of(const std::vector<float>& x, const FloatLinear& layer) {
  return multiply(x, kRows, layer.weights, layer.bias, 1);
}

void add(const std::vector<float>& changes, std::vector<float>& bias) {
  for (size_t i = 0; i < changes.size(); ++i) bias[i] += changes[i];
}

FloatLinear dequantize(const QuantizedLinear& q, std::vector<float> bias) {
  FloatLinear layer = {q.inputs, q.outputs, {}, std::move(bias)};
  for (size_t i = 0; i < q.weights.size(); ++i) layer.weights.push_back(q.weights[i] * q.scales[i / q.inputs]);
  add(q.bias_changes, layer.bias);
  return layer;
}

FloatLinear dequantize(const QuantizedInt4& q, std::vector<float> bias) {
  FloatLinear layer = {q.inputs, q.outputs, {}, std::move(bias)};
  for (size_t i = 0; i < q.weights.size(); ++i) {
    const size_t output = i / q.inputs, block = i % q.inputs / kInt4Block;
    const int scale = q.block_scales[output * int4_block_count(q.inputs) + block];
    layer.weights.push_back(static_cast<float>(q.weights[i] * scale) * q.scales[output]);
  }
  add(q.bias_changes, layer.bias);
  return layer;
}

TEST(ErrorFeedbackTest, OutputsChangeLessThanWithPlainRounding) {
  const std::vector<float> x = draw_inputs();
  const FloatLinear layer = draw_layer(10);
  const std::vector<float> expected = outputs_of(x, layer);
  const ErrorFeedback feedback(x, kInputs, 0.01f, 1);
  const auto error = [&](const auto& quantized) {
    return squared_distance(outputs_of(x, dequantize(quantized, layer.bias)), expected);
  };
  EXPECT_LT(error(quantize(layer.weights, kInputs, kOutputs, &feedback)),
            error(quantize(layer.weights, kInputs, kOutputs)) / 4);
  EXPECT_LT(error(quantize_int4(layer.weights, kInputs, kOutputs, &feedback)),
            error(quantize_int4(layer.weights, kInputs, kOutputs)) / 4);
}

// The last 6 of 70 inputs are a block of their own, which varies most here.
TEST(ErrorFeedbackTest, ScalesBelongToWholeBlocks) {
  constexpr size_t kWhole = kInputs / ErrorFeedback::kBlock * ErrorFeedback::kBlock;
  std::vector<float> x = draw_inputs();
  for (size_t i = 0; i < x.size(); ++i) x[i] *= i % kInputs < kWhole ? 1.0f : 8.0f;
  const ErrorFeedback feedback(x, kInputs, 0.01f, 1);
  const FloatLinear layer = draw_layer(10);
  std::vector<size_t> sizes(int4_block_count(kInputs));
  std::vector<int8_t> q(kInputs * kOutputs);
  const auto record = [&sizes](size_t, size_t block, std::span<const float> targets, std::span<const float>) {
    sizes[block] = targets.size();
    return 0.01f;
  };
  feedback.round(layer.weights, kOutputs, -7, 7, record, q.data());
  EXPECT_EQ(sizes, (std::vector<size_t>{32, 32, 6}));
}

TEST(ErrorFeedbackTest, InputsThatNeverVaryCostNothing) {
  const std::vector<float> x(kRows * kInputs, 2);
  const FloatLinear layer = draw_layer(10);
  const ErrorFeedback feedback(x, kInputs, 0.01f, 1);
  const FloatLinear rounded = dequantize(quantize_int4(layer.weights, kInputs, kOutputs, &feedback), layer.bias);
  EXPECT_LT(squared_distance(outputs_of(x, rounded), outputs_of(x, layer)), 1e-3);
}

TEST(ErrorFeedbackTest, ThreadsDoNotChangeTheWeights) {
  const std::vector<float> x = draw_inputs();
  const FloatLinear layer = draw_layer(10);
  const ErrorFeedback one(x, kInputs, 0.01f, 1), three(x, kInputs, 0.01f, 3);
  EXPECT_EQ(quantize(layer.weights, kInputs, kOutputs, &one).weights,
            quantize(layer.weights, kInputs, kOutputs, &three).weights);
}

FloatNorm draw_norm() { return {draw(kInputs, 20), draw(kInputs, 21)}; }

TEST(MigrationTest, FoldingKeepsTheOutputs) {
  const std::vector<float> hidden = draw_inputs();
  FloatNorm norm = draw_norm();
  FloatLinear layer = draw_layer(10);
  const std::vector<float> x = float_layer_norm(hidden, norm, 1e-5f);
  const std::vector<float> expected = outputs_of(x, layer);
  const ChannelMap map = optimize_channels(x, layer, std::vector<float>(kOutputs, 1));
  fold(map, norm, layer);
  const std::vector<float> folded = outputs_of(float_layer_norm(hidden, norm, 1e-5f), layer);
  EXPECT_LT(squared_distance(folded, expected), 1e-6 * kRows * kOutputs);
}

// The values of a channel are multiplied by 64 and its weights divided by 64; both are exact. The scale of the channel
// becomes 64 times as large, and the model is the same after folding.
TEST(MigrationTest, OutliersVanishExactly) {
  const std::vector<float> x = draw_inputs();
  const FloatLinear layer = draw_layer(10);
  std::vector<float> outlying_x = x;
  FloatLinear outlying_layer = layer;
  for (size_t i = 5; i < x.size(); i += kInputs) outlying_x[i] *= 64;
  for (size_t i = 5; i < layer.weights.size(); i += kInputs) outlying_layer.weights[i] /= 64;
  const std::vector<float> importance(kOutputs, 1);
  const ChannelMap map = optimize_channels(x, layer, importance);
  const ChannelMap outlying = optimize_channels(outlying_x, outlying_layer, importance);
  const std::vector<float> no_shifts(kInputs);
  const ChannelMap balanced = balance_channels(x, no_shifts, layer, importance);
  const ChannelMap outlying_balanced = balance_channels(outlying_x, no_shifts, outlying_layer, importance);
  for (size_t c = 0; c < kInputs; ++c) {
    const float factor = c == 5 ? 64.0f : 1.0f;
    EXPECT_NEAR(outlying.scales[c] / map.scales[c], factor, 1e-3f * factor) << c;
    EXPECT_EQ(outlying.shifts[c], map.shifts[c] * factor) << c;
    EXPECT_EQ(outlying_balanced.scales[c], balanced.scales[c] * factor) << c;
  }
}

TEST(CalibrationTest, CalibratedLayersKeepTheFunctionOfTheModel) {
  const ModelShape shape = tiny_shape(24);
  const SyntheticCheckpoint checkpoint("tiny", shape, 5);
  TokenWindow window;
  for (int32_t i = 0; i < 24; ++i) window.push_back(i * 7 % 50);
  const std::vector<TokenWindow> windows = {window, {3, 1, 4}};
  for (const CalibrationEffort effort : {CalibrationEffort::kOutliers, CalibrationEffort::kFull}) {
    Calibration calibration(checkpoint, windows, effort, 2);
    FloatModel model = load_float_model(checkpoint);
    const std::vector<float> expected = float_forward(model, window);
    for (FloatLayer& layer : model.layers) layer = calibration.next_layer().layer;
    CalibratedHead head = calibration.head();
    EXPECT_EQ(head.head.bias.empty(), effort == CalibrationEffort::kOutliers);
    model.final_norm = head.final_norm;
    model.head = head.head;
    EXPECT_LT(squared_distance(float_forward(model, window), expected), 1e-9 * static_cast<double>(expected.size()));
  }
}

// A synthetic model with two outlier channels: its norms produce them 64 times as large, and the layers that read them
// undo this. Both are exact, so the model computes the same bits.
class OutlyingCheckpoint final : public Checkpoint {
 public:
  explicit OutlyingCheckpoint(const SyntheticCheckpoint& plain) : Checkpoint(plain.info()), plain_(plain) {}

  std::vector<float> positions() const override { return plain_.positions(); }
  std::vector<float> token_embedding() const override { return plain_.token_embedding(); }
  FloatNorm final_norm() const override { return plain_.final_norm(); }
  FloatLinear head() const override { return plain_.head(); }
  FloatLayer layer(uint32_t index) const override {
    FloatLayer layer = plain_.layer(index);
    const auto multiply = [](FloatNorm& norm, FloatLinear& reader) {
      for (const size_t channel : {3, 17}) {
        norm.gain[channel] *= 64;
        norm.bias[channel] *= 64;
        for (size_t i = channel; i < reader.weights.size(); i += reader.inputs) reader.weights[i] /= 64;
      }
    };
    multiply(layer.attention_norm, layer.attention_qkv);
    multiply(layer.feed_forward_norm, layer.feed_forward_up);
    return layer;
  }

 private:
  const SyntheticCheckpoint& plain_;
};

TEST(CalibrationTest, OutliersDoNotChangeTheFile) {
  const ModelShape shape = tiny_shape(48);
  const SyntheticCheckpoint plain("tiny", shape, 5);
  const OutlyingCheckpoint outlying(plain);
  const std::vector<TokenWindow> windows = {random_tokens(plain.info())};
  WriteOptions options;
  for (const WeightKind kind : {WeightKind::kInt8, WeightKind::kInt4}) {
    options.layers = options.head = kind;
    options.calibration = {};
    EXPECT_NE(convert_to_bytes(outlying, options), convert_to_bytes(plain, options));
    options.calibration = windows;
    options.effort = CalibrationEffort::kOutliers;
    EXPECT_EQ(convert_to_bytes(outlying, options), convert_to_bytes(plain, options));
  }
}

TEST(CalibrationTest, FilesAreEqualForAnyNumberOfThreads) {
  const ModelShape shape = tiny_shape(48);
  const SyntheticCheckpoint checkpoint("tiny", shape, 5);
  const std::vector<TokenWindow> windows = {{3, 1, 4, 1, 5, 9, 2, 6}, {5, 3, 5}};
  WriteOptions options;
  options.calibration = windows;
  for (const CalibrationEffort effort : {CalibrationEffort::kOutliers, CalibrationEffort::kFull}) {
    options.effort = effort;
    for (const WeightKind kind : {WeightKind::kInt8, WeightKind::kInt4}) {
      options.layers = options.head = kind;
      options.thread_count = 1;
      const std::vector<uint8_t> one = convert_to_bytes(checkpoint, options);
      options.thread_count = 3;
      EXPECT_EQ(one, convert_to_bytes(checkpoint, options));
    }
  }
}

}  // namespace
}  // namespace sotto
