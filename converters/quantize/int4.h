// Quantizes weights to 4 bits with one scale per block: 32 consecutive inputs of one output, as in
// kernels/linear/int4.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sotto {

class ErrorFeedback;

// A quantized layer and the sums that measure its error.
struct QuantizedInt4 {
  uint32_t inputs = 0;
  uint32_t outputs = 0;
  std::vector<int8_t> weights;       // (outputs, inputs), -7 ... 8
  std::vector<int8_t> block_scales;  // (outputs, blocks), -127 ... 127
  std::vector<float> scales;         // (outputs)
  std::vector<float> bias_changes;   // (outputs): numbers to add to the biases; empty without feedback
  double signal = 0;                 // sum of w^2
  double noise = 0;                  // sum of (w - q * block_scale * scale)^2
  double largest_error = 0;          // largest |w - q * block_scale * scale|
};

// Quantizes w to q * block_scale * scale. The scale of a row makes its largest weight 8 * 127 * scale: the quantized
// weight 8 with the block scale 127, or -127 for a negative weight. Each block tries several block scales around the
// one that its largest weight suggests, refines the best of them by least squares, and uses the one with the least
// squared error. The int32 sums of a layer stay below 2^31. With `feedback`, rounding compensates errors
// (error_feedback.h), and block scales minimize the error of the outputs instead. `weights` is (outputs, inputs) and
// finite. The number of threads does not change the result.
QuantizedInt4 quantize_int4(std::span<const float> weights, uint32_t inputs, uint32_t outputs,
                            const ErrorFeedback* feedback = nullptr, unsigned thread_count = 1);

// Returns the layer's tiles. `bias` is (outputs), or empty for zero.
std::vector<uint8_t> build_int4_tiles(const QuantizedInt4& layer, std::span<const float> bias);

}  // namespace sotto
