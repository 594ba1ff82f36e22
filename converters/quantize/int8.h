// Quantizes weights to int8, symmetrically, with one scale per output. Example: rounding 0.5, -1.27 and 0.02 to nearest
// gives the scale 0.01 and 50, -127 and 2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sotto {

class ErrorFeedback;

// A quantized layer and the sums that measure its error.
struct QuantizedLinear {
  uint32_t inputs = 0;
  uint32_t outputs = 0;
  std::vector<int8_t> weights;      // (outputs, inputs), in [-127, 127]
  std::vector<float> scales;        // (outputs)
  std::vector<float> bias_changes;  // (outputs): numbers to add to the biases; empty without feedback
  double signal = 0;                // sum of w^2
  double noise = 0;                 // sum of (w - q * scale)^2
  double largest_error = 0;         // largest |w - q * scale|
};

// Quantizes w to q * scale with scale = max |w| / 127 over the row. No error exceeds half a scale. Rows are not clipped
// below their maximum, because this would gain less than 0.1 dB on real checkpoints. A row of zeros has scale 1, and
// scales are normal floats, never subnormal. With `feedback`, rounding compensates errors (error_feedback.h); single
// errors may then exceed half a scale. `weights` is (outputs, inputs) and finite.
QuantizedLinear quantize(std::span<const float> weights, uint32_t inputs, uint32_t outputs,
                         const ErrorFeedback* feedback = nullptr);

// Returns 10 log10(signal / noise), or infinity without noise.
double signal_to_noise_db(double signal, double noise);

}  // namespace sotto
