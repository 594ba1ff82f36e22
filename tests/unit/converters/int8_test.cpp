#include "converters/quantize/int8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace sotto {
namespace {

constexpr float kTiny = std::numeric_limits<float>::min();

// Checks properties of every finite input: the range, the scale, and an error of at most half a step.
void expect_sound(const std::vector<float>& weights, uint32_t inputs, uint32_t outputs) {
  const QuantizedLinear result = quantize(weights, inputs, outputs);
  ASSERT_EQ(result.weights.size(), weights.size());
  ASSERT_EQ(result.scales.size(), outputs);
  for (size_t row = 0; row < outputs; ++row) {
    const double scale = result.scales[row];
    ASSERT_GE(scale, kTiny);
    ASSERT_TRUE(std::isfinite(scale));
    for (size_t i = row * inputs; i < (row + 1) * inputs; ++i) {
      ASSERT_GE(result.weights[i], -127);
      // A quotient rounded to float moves the boundary between two steps by its last bit.
      ASSERT_LE(std::fabs(weights[i] - result.weights[i] * scale), scale * 0.50001)
          << weights[i] << " as " << int{result.weights[i]} << " x " << scale;
    }
  }
}

TEST(QuantizeTest, IsSoundForManyShapesAndMagnitudes) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const float magnitude : {1e-44f, 1e-39f, 1e-20f, 0.02f, 1.0f, 1e20f, 3e37f}) {
    for (const uint32_t inputs : {1u, 2u, 15u, 16u, 17u, 48u, 100u}) {
      std::vector<float> weights(size_t{inputs} * 5);
      for (float& weight : weights) weight = normal(random) * magnitude;
      expect_sound(weights, inputs, 5);
    }
  }
}

TEST(QuantizeTest, IsSoundAtTheLimitsOfFloat) {
  const float huge = std::numeric_limits<float>::max();
  const float least = std::numeric_limits<float>::denorm_min();
  expect_sound({huge, -huge, huge / 2, 0, least, 1}, 6, 1);
  expect_sound({kTiny, -kTiny, least, 0}, 4, 1);
  expect_sound({least, 0, 0, -least}, 2, 2);
}

TEST(QuantizeTest, UsesTheWholeRangeOfEachRow) {
  const QuantizedLinear result = quantize(std::vector<float>{1, -0.5f, 0, 0, -254, 254}, 2, 3);
  EXPECT_EQ(result.weights, (std::vector<int8_t>{127, -64, 0, 0, -127, 127}));
  EXPECT_EQ(result.scales, (std::vector<float>{1.0f / 127, 1, 2}));
}

TEST(QuantizeTest, RoundsToTheNearestTiesToEven) {
  const QuantizedLinear result = quantize(std::vector<float>{127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 2.51f, -2.49f}, 8, 1);
  EXPECT_EQ(result.weights, (std::vector<int8_t>{127, 0, 2, 2, 0, -2, 3, -2}));
}

TEST(QuantizeTest, MeasuresSignalAndNoise) {
  const QuantizedLinear exact = quantize(std::vector<float>{127, 1, -3, 254, 2, 0}, 3, 2);
  EXPECT_DOUBLE_EQ(exact.signal, 127 * 127 + 1 + 9 + 254 * 254 + 4);
  EXPECT_EQ(exact.noise, 0);
  EXPECT_EQ(signal_to_noise_db(exact.signal, exact.noise), std::numeric_limits<double>::infinity());

  const QuantizedLinear rounded = quantize(std::vector<float>{127, 1.25f, -3.5f}, 3, 1);
  EXPECT_DOUBLE_EQ(rounded.noise, 0.25 * 0.25 + 0.5 * 0.5);
  EXPECT_DOUBLE_EQ(rounded.largest_error, 0.5);
  EXPECT_DOUBLE_EQ(signal_to_noise_db(1000, 1), 30);
}

}  // namespace
}  // namespace sotto
