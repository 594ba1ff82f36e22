#include "converters/quantize/int8.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "converters/quantize/error_feedback.h"

namespace sotto {
namespace {

constexpr size_t kLanes = 16;  // independent sums, so that compilers can vectorize them

float max_magnitude(const float* row, size_t count) {
  float lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float magnitude = std::fabs(row[i + lane]);
      lanes[lane] = magnitude > lanes[lane] ? magnitude : lanes[lane];
    }
  }
  float max = *std::max_element(lanes, lanes + kLanes);
  for (; i < count; ++i) max = std::max(max, std::fabs(row[i]));
  return max;
}

float row_scale(float max) {
  if (max == 0) return 1;
  return std::max(max / 127, std::numeric_limits<float>::min());
}

void round_row(const float* row, size_t count, float scale, int8_t* q) {
  for (size_t i = 0; i < count; ++i) {
    q[i] = static_cast<int8_t>(static_cast<int32_t>(std::clamp(round_to_integer(row[i] / scale), -127.0f, 127.0f)));
  }
}

// Adds the signal and the noise of a row and updates the largest error. Sums are in units of scale^2, so that neither
// overflows.
void add_errors(const float* row, const int8_t* q, size_t count, float scale, QuantizedLinear& result) {
  float signal[kLanes] = {};
  float noise[kLanes] = {};
  float largest[kLanes] = {};
  const auto add = [&](size_t i, size_t lane) {
    const float value = row[i] / scale;
    const float error = value - static_cast<float>(q[i]);
    signal[lane] += value * value;
    noise[lane] += error * error;
    const float magnitude = std::fabs(error);
    largest[lane] = magnitude > largest[lane] ? magnitude : largest[lane];
  };
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) add(i + lane, lane);
  }
  for (; i < count; ++i) add(i, 0);
  const double energy_scale = static_cast<double>(scale) * scale;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    result.signal += signal[lane] * energy_scale;
    result.noise += noise[lane] * energy_scale;
    result.largest_error = std::max(result.largest_error, static_cast<double>(largest[lane]) * scale);
  }
}

}  // namespace

QuantizedLinear quantize(std::span<const float> weights, uint32_t inputs, uint32_t outputs,
                         const ErrorFeedback* feedback) {
  assert(weights.size() == size_t{inputs} * outputs);
  QuantizedLinear result;
  result.inputs = inputs;
  result.outputs = outputs;
  result.weights.resize(weights.size());
  result.scales.resize(outputs);
  for (size_t row = 0; row < outputs; ++row) {
    const float* values = weights.data() + row * inputs;
    result.scales[row] = row_scale(max_magnitude(values, inputs));
    if (feedback == nullptr) round_row(values, inputs, result.scales[row], result.weights.data() + row * inputs);
  }
  if (feedback != nullptr) {
    const auto scale_of_row = [&](size_t row, size_t, std::span<const float>, std::span<const float>) {
      return result.scales[row];
    };
    result.bias_changes = feedback->round(weights, outputs, -127, 127, scale_of_row, result.weights.data());
  }
  for (size_t row = 0; row < outputs; ++row) {
    const size_t first = row * inputs;
    add_errors(weights.data() + first, result.weights.data() + first, inputs, result.scales[row], result);
  }
  return result;
}

double signal_to_noise_db(double signal, double noise) {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

}  // namespace sotto
