// Compares simulated quantization with numpy (tests/tools/make_simulation_goldens.py), and checks its properties.
#include "converters/quantize/simulate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "converters/quantize/int8.h"

namespace sotto {
namespace {

constexpr uint32_t kOutputs = 5;
constexpr uint32_t kInputs = 70;

std::vector<float> weights() {
  std::vector<float> values;
  uint64_t state = 1;
  for (size_t i = 0; i < size_t{kOutputs} * kInputs; ++i) {
    state = (1103515245 * state + 12345) % (uint64_t{1} << 31);
    const double uniform = static_cast<double>(state >> 8) / (1 << 22) - 1;
    values.push_back(static_cast<float>(uniform * uniform * uniform));
  }
  return values;
}

TEST(Simulate, EqualsNumpy) {
  std::ifstream file(SOTTO_SOURCE_DIR "/tests/unit/converters/data/simulation_goldens.json");
  const auto goldens = nlohmann::json::parse(file);
  ASSERT_EQ(goldens.size(), 18u);
  const std::vector<float> values = weights();
  for (const auto& golden : goldens) {
    SCOPED_TRACE(golden.dump());
    const double kept_from = importance_threshold(values, golden["share"]);
    for (const unsigned thread_count : {1u, 3u}) {
      const SimulatedError error = simulate_quantization(values, kInputs, golden["bits"], kept_from, thread_count);
      const double mean = golden["mean_squared_error"], largest = golden["largest_error"];
      EXPECT_NEAR(error.noise / static_cast<double>(values.size()), mean, 1e-12 * mean);
      EXPECT_NEAR(error.largest_error, largest, 1e-12 * largest);
      EXPECT_NEAR(signal_to_noise_db(error.signal, error.noise), golden["signal_to_noise_db"].get<double>(), 1e-9);
    }
  }
}

TEST(Simulate, KeepsTheShareOfTheLargestWeights) {
  const std::vector<float> values = {1, -8, 3, 0, -3, 2, 7, 5, 4, -6};
  EXPECT_EQ(importance_threshold(values, 0), INFINITY);
  EXPECT_EQ(importance_threshold(values, 0.05), 8);
  EXPECT_EQ(importance_threshold(values, 0.1), 8);
  EXPECT_EQ(importance_threshold(values, 0.11), 7);
  EXPECT_EQ(importance_threshold(values, 1), 0);
  EXPECT_EQ(simulate_quantization(values, 10, 2, importance_threshold(values, 1), 1).noise, 0);
  // Without -8 and 7, the scale of 2 bits is 6: 5 and 4 become 6, and 3, 2 and 1 become 0, as half of 6 rounds to even.
  const SimulatedError error = simulate_quantization(values, 10, 2, importance_threshold(values, 0.2), 1);
  EXPECT_EQ(error.noise, 1 + 4 + 9 + 9 + 4 + 1);
  EXPECT_EQ(error.largest_error, 3);
}

TEST(Simulate, ZerosAreExact) {
  const std::vector<float> zeros(64);
  const SimulatedError error = simulate_quantization(zeros, 32, 4, INFINITY, 1);
  EXPECT_EQ(error.noise, 0);
  EXPECT_EQ(error.largest_error, 0);
}

}  // namespace
}  // namespace sotto
