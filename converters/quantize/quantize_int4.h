// Quantization of weights to 4 bits, a scale for every block of 32 inputs of an output, in the
// layout of kernels/linear/int4_tiles.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sotto {

struct QuantizedInt4 {
  uint32_t inputs = 0;
  uint32_t outputs = 0;
  std::vector<int8_t> weights;       // (outputs, inputs), -7 ... 8
  std::vector<int8_t> block_scales;  // (outputs, blocks), -127 ... 127
  std::vector<float> scales;         // (outputs)
  double signal = 0;                 // sum of w^2
  double noise = 0;                  // sum of (w - q * block_scale * scale)^2
};

// w ~ q * block_scale * scale. A row's scale gives its largest weight the block scale 127 and
// the weight 8 or, by the sign of the block scale, -8. A block takes the block scale of least
// squared error among some around that which its largest weight suggests, and the best one for
// the weights that these lead to. The sums of a layer stay below 2^31. weights (outputs, inputs),
// finite.
QuantizedInt4 quantize_int4(std::span<const float> weights, uint32_t inputs, uint32_t outputs);

// The layer's tiles. bias (outputs), or empty for zero.
std::vector<uint8_t> build_int4_tiles(const QuantizedInt4& layer, std::span<const float> bias);

}  // namespace sotto
