// Linear layers with 4-bit weights. All CPUs use the weights as they are in model files: W[o][i] = (nibble - 7) *
// block_scale * scale, with one int8 block scale per 32 inputs of an output and one float scale per output. Example:
// the nibble 9, the block scale 3 and the scale 0.01 mean the weight 0.06.
//
// A tile contains 16 outputs. It consists of its frame (below), its block scales (block, output), padded with zeros to
// a multiple of 64 bytes, and its nibbles: for every 8 inputs there are 64 bytes (output, 4), and byte i has input i in
// its low half and input i + 4 in its high half. Inputs and outputs that the layer does not have are padded with the
// nibble 7: zero.
//
// The result for a row of activations q (RowQuantization) is defined by int32 arithmetic modulo 2^32, exact in any
// order: sum = sum over blocks of block_scale * (sum of q * (nibble - 7)), minus zero_point * frame.sums; then y =
// fma(float(sum) * row.scale, scale, bias).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "kernels/linear/int8.h"

namespace sotto {

inline constexpr size_t kInt4Block = 32;
inline constexpr size_t kInt4Columns = 16;
inline constexpr int kInt4Zero = 7;  // the nibble that means zero, so that weights are -7 ... 8
inline constexpr size_t kInt4ChunkInputs = 8;
inline constexpr size_t kInt4ChunkBytes = kInt4Columns * 4;
inline constexpr size_t kInt4BlockBytes = kInt4Columns * kInt4Block / 2;

// The beginning of a tile.
struct Int4Frame {
  int32_t sums[kInt4Columns];  // sums of (nibble - 7) * block_scale, modulo 2^32
  float scales[kInt4Columns];  // 1 for outputs that the layer does not have
  float biases[kInt4Columns];
};
static_assert(sizeof(Int4Frame) == 192);

constexpr size_t int4_block_count(size_t inputs) { return divide_up(inputs, kInt4Block); }
constexpr size_t int4_tile_count(size_t outputs) { return divide_up(outputs, kInt4Columns); }

// Returns the offset of the nibbles from the start of a tile.
constexpr size_t int4_nibbles_offset(size_t inputs) {
  return sizeof(Int4Frame) + align_up(int4_block_count(inputs) * kInt4Columns, 64);
}
constexpr size_t int4_tile_size(size_t inputs) {
  return int4_nibbles_offset(inputs) + int4_block_count(inputs) * kInt4BlockBytes;
}

// Returns the size of all tiles in 64 bits, so that 32-bit machines can detect shapes that are too large.
constexpr uint64_t int4_size(size_t inputs, size_t outputs) {
  return uint64_t{int4_tile_count(outputs)} * int4_tile_size(inputs);
}

// The position of the weight of an input and an output (0 ... 15) among the nibbles of a tile.
struct NibblePosition {
  size_t byte;
  unsigned shift;
};
constexpr NibblePosition int4_nibble(size_t input, size_t output) {
  const size_t within = input % kInt4ChunkInputs;
  return {input / kInt4ChunkInputs * kInt4ChunkBytes + output * 4 + within % 4, within < 4 ? 0u : 4u};
}

// Returns whether this build can multiply 4-bit weights. Otherwise it rejects models with such weights.
bool int4_available();

// The scratch memory of kernels/generic/int4.h contains the rows in groups of nearly equal sizes (RowBlocks): first the
// activations of each group, (block, row, 32), padded with zeros, then the starts of each group, (block, row). The
// start of a block is -7 times the sum of its activations, so that the loop can multiply by the nibbles as they are.
inline int32_t* int4_starts(const LinearArgs& args) {
  return reinterpret_cast<int32_t*>(args.scratch + args.rows * int4_block_count(args.inputs) * kInt4Block);
}

// Returns the bytes of scratch memory that a multiplication of `rows` rows needs, for groups or for tiles of 16 rows by
// 64 inputs.
constexpr size_t int4_scratch_size(size_t rows, size_t inputs) {
  const size_t groups = rows * int4_block_count(inputs) * (kInt4Block + sizeof(int32_t));
  if (rows <= kSmallBatchRows) return groups;
  return std::max(groups, int8_scratch_size(rows, inputs));
}

// Computes y (inputs), the embedding of token `output` at `position`: y = fma(float(nibble - 7), float(block_scale) *
// scale, position), with the weights of that output.
void embed_int4(const Kernels& kernels, const uint8_t* tiles, size_t inputs, size_t output, const float* position,
                float* y);

}  // namespace sotto
