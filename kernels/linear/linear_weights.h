// The weights of one linear layer, and what every engine that multiplies with them agrees on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto {

struct LinearWeights {
  uint32_t inputs = 0;
  uint32_t outputs = 0;
  // (outputs, inputs), in [-127, 127]; for packing, followed by kWeightPadding readable bytes
  const int8_t* rows = nullptr;
  const float* scales = nullptr;  // (outputs)
  const float* bias = nullptr;    // (outputs); null: zero
  const void* packed = nullptr;   // set once packed; XNNPACK engine only
  // 4 bits a weight (kernels/linear/int4_tiles.h); all other pointers are null then.
  const uint8_t* tiles = nullptr;
};

// Packing reads rows of any length in whole words.
inline constexpr size_t kWeightPadding = 8;
// Slack the engine may read behind activations, and extra rows of quantization.
inline constexpr size_t kActivationPadding = 128;
inline constexpr size_t kQuantizationPadding = 16;

// Memory for what an engine keeps of one shape.
inline constexpr size_t kLinearOperatorBytes = 12288;

// Bytes to set aside for packed weights of a shape: a bound over all instruction sets, a
// multiple of 64, so that memory sizes do not depend on the CPU.
//   round_up(outputs, 64) * (round_up(inputs, 32) + 16)
constexpr size_t packed_size_bound(size_t inputs, size_t outputs) {
  return (outputs + 63) / 64 * 64 * ((inputs + 31) / 32 * 32 + 16);
}

}  // namespace sotto
