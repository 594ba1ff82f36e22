// Linear layers with weights of 4 bits, as they lie in model files and are multiplied from on
// every CPU: W[o][i] = (nibble - 7) * block_scale * scale, with one int8 block scale for every
// 32 inputs of an output and one float scale for every output.
//
// Tiles of 16 outputs follow each other. A tile is its frame (below), its block scales
// (block, output) with zeros up to a multiple of 64 bytes, and its nibbles: for every 8 inputs
// 64 bytes (output, 4), byte i with input i in its low and input i + 4 in its high half.
// Inputs and outputs that do not exist have the nibble 7: zero.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto {

inline constexpr size_t kInt4Block = 32;
inline constexpr size_t kInt4Columns = 16;
inline constexpr int kInt4Zero = 7;  // the nibble that means zero: weights are -7 ... 8
inline constexpr size_t kInt4ChunkInputs = 8;
inline constexpr size_t kInt4ChunkBytes = kInt4Columns * 4;
inline constexpr size_t kInt4BlockBytes = kInt4Columns * kInt4Block / 2;

struct Int4Frame {
  int32_t sums[kInt4Columns];  // of (nibble - 7) * block_scale, modulo 2^32
  float scales[kInt4Columns];  // 1 for outputs that do not exist
  float biases[kInt4Columns];
};
static_assert(sizeof(Int4Frame) == 192);

constexpr size_t int4_block_count(size_t inputs) { return (inputs + kInt4Block - 1) / kInt4Block; }
constexpr size_t int4_tile_count(size_t outputs) { return (outputs + kInt4Columns - 1) / kInt4Columns; }

// Bytes from a tile's begin.
constexpr size_t int4_nibbles_offset(size_t inputs) {
  return sizeof(Int4Frame) + (int4_block_count(inputs) * kInt4Columns + 63) / 64 * 64;
}
constexpr size_t int4_tile_size(size_t inputs) {
  return int4_nibbles_offset(inputs) + int4_block_count(inputs) * kInt4BlockBytes;
}

// More than size_t can hold for shapes that 32-bit machines must refuse.
constexpr uint64_t int4_size(size_t inputs, size_t outputs) {
  return uint64_t{int4_tile_count(outputs)} * int4_tile_size(inputs);
}

// Where an input of an output (0 ... 15) is within a tile's nibbles.
struct NibblePlace {
  size_t byte;
  unsigned shift;
};
constexpr NibblePlace int4_nibble(size_t input, size_t output) {
  const size_t within = input % kInt4ChunkInputs;
  return {input / kInt4ChunkInputs * kInt4ChunkBytes + output * 4 + within % 4, within < 4 ? 0u : 4u};
}

}  // namespace sotto
