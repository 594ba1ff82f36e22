#include "converters/quantize/int4.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "kernels/linear/int4.h"

namespace sotto {
namespace {

std::vector<float> normal_weights(size_t count, float magnitude, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, magnitude);
  std::vector<float> weights(count);
  for (float& weight : weights) weight = normal(random);
  return weights;
}

double value_of(const QuantizedInt4& result, size_t output, size_t input) {
  const size_t blocks = int4_block_count(result.inputs);
  return static_cast<double>(result.scales[output]) * result.block_scales[output * blocks + input / kInt4Block] *
         result.weights[output * result.inputs + input];
}

double squared_error(const QuantizedInt4& result, const std::vector<float>& weights) {
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double error = weights[i] - value_of(result, i / result.inputs, i % result.inputs);
    sum += error * error;
  }
  return sum;
}

// Returns the error of rounding without a search: the largest weight of a block becomes -8, and scales are exact.
double plain_error(const std::vector<float>& weights) {
  double sum = 0;
  for (size_t first = 0; first < weights.size(); first += kInt4Block) {
    const auto begin = weights.begin() + static_cast<ptrdiff_t>(first);
    const double extreme =
        *std::max_element(begin, begin + kInt4Block, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
    const double scale = extreme / -8;
    for (size_t i = first; i < first + kInt4Block; ++i) {
      const double rounded = std::clamp(std::nearbyint(weights[i] / scale), -8.0, 7.0);
      const double error = weights[i] - rounded * scale;
      sum += error * error;
    }
  }
  return sum;
}

TEST(QuantizeInt4Test, HasASmallerErrorThanPlainRounding) {
  const std::vector<float> weights = normal_weights(size_t{64} * 256, 0.02f, 1);
  const QuantizedInt4 result = quantize_int4(weights, 256, 64);
  const double error = squared_error(result, weights);
  EXPECT_LT(error, 0.97 * plain_error(weights));
  EXPECT_NEAR(result.noise, error, 1e-9 * error);
  EXPECT_GT(result.signal, 100 * result.noise);
}

TEST(QuantizeInt4Test, IsSoundForManyShapesAndMagnitudes) {
  for (const float magnitude : {0.0f, 1e-44f, 1e-39f, 1e-20f, 1.0f, 1e20f, 3e37f}) {
    for (const uint32_t inputs : {1u, 31u, 32u, 33u, 100u}) {
      const std::vector<float> weights = normal_weights(size_t{inputs} * 5, magnitude, inputs);
      const QuantizedInt4 result = quantize_int4(weights, inputs, 5);
      ASSERT_EQ(result.weights.size(), weights.size());
      ASSERT_EQ(result.block_scales.size(), 5 * int4_block_count(inputs));
      for (size_t i = 0; i < weights.size(); ++i) {
        const size_t output = i / inputs;
        const auto row = weights.begin() + static_cast<ptrdiff_t>(output * inputs);
        double largest = 0;
        for (size_t k = 0; k < inputs; ++k) {
          largest = std::max<double>(largest, std::fabs(*(row + static_cast<ptrdiff_t>(k))));
        }
        ASSERT_GE(result.scales[output], std::numeric_limits<float>::min());
        ASSERT_GE(result.weights[i], -7);
        ASSERT_LE(result.weights[i], 8);
        // The search may clip weights, but never by more than a few steps of the coarsest block.
        ASSERT_LE(std::fabs(weights[i] - value_of(result, output, i % inputs)), 0.4 * largest + result.scales[output]);
      }
    }
  }
}

TEST(QuantizeInt4Test, RepresentsItsOwnValuesExactly) {
  std::mt19937 random(3);
  std::vector<float> weights(96);
  for (float& weight : weights) {
    weight = static_cast<float>(static_cast<int>(random() % 16) - 7) / 64;
  }
  for (const size_t first : {0u, 32u, 64u}) weights[first] = 0.125f;  // eight of them
  EXPECT_LT(squared_error(quantize_int4(weights, 96, 1), weights), 1e-12);
}

// In a wide layer with even weights, full block scales would overflow.
TEST(QuantizeInt4Test, SumsOfWideLayersFit) {
  constexpr uint32_t kInputs = 40000;
  const QuantizedInt4 result = quantize_int4(std::vector<float>(kInputs, 0.5f), kInputs, 1);
  int64_t largest = 0;
  for (size_t i = 0; i < kInputs; ++i) {
    largest += int64_t{255} * std::abs(result.weights[i] * result.block_scales[i / kInt4Block]);
  }
  EXPECT_LE(largest, std::numeric_limits<int32_t>::max());
  EXPECT_NEAR(value_of(result, 0, kInputs - 1), 0.5, 1e-6);
}

TEST(QuantizeInt4Test, TilesHoldTheLayer) {
  constexpr uint32_t kInputs = 70, kOutputs = 21;
  const std::vector<float> weights = normal_weights(size_t{kInputs} * kOutputs, 1, 5);
  const std::vector<float> bias = normal_weights(kOutputs, 1, 6);
  const QuantizedInt4 layer = quantize_int4(weights, kInputs, kOutputs);
  const std::vector<uint8_t> tiles = build_int4_tiles(layer, bias);
  ASSERT_EQ(tiles.size(), int4_size(kInputs, kOutputs));
  for (size_t output = 0; output < 2 * kInt4Columns; ++output) {
    const uint8_t* tile = tiles.data() + output / kInt4Columns * int4_tile_size(kInputs);
    const size_t column = output % kInt4Columns;
    const bool exists = output < kOutputs;
    Int4Frame frame;
    std::memcpy(&frame, tile, sizeof frame);
    EXPECT_EQ(frame.scales[column], exists ? layer.scales[output] : 1.0f);
    EXPECT_EQ(frame.biases[column], exists ? bias[output] : 0.0f);
    int32_t sum = 0;
    for (size_t i = 0; i < int4_block_count(kInputs) * kInt4Block; ++i) {
      const NibblePosition place = int4_nibble(i, column);
      const int weight = (tile[int4_nibbles_offset(kInputs) + place.byte] >> place.shift & 15) - kInt4Zero;
      const auto scale = static_cast<int8_t>(tile[sizeof frame + i / kInt4Block * kInt4Columns + column]);
      sum += weight * scale;
      const bool is_weight = exists && i < kInputs;
      ASSERT_EQ(weight, is_weight ? layer.weights[output * kInputs + i] : 0);
      if (is_weight) {
        ASSERT_EQ(scale, layer.block_scales[output * int4_block_count(kInputs) + i / kInt4Block]);
      }
    }
    EXPECT_EQ(frame.sums[column], sum);
  }
}

}  // namespace
}  // namespace sotto
