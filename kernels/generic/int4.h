// Multiplies rows of activations with 4-bit weights. `V` describes how an instruction set does this for kColumns
// adjacent outputs:
//   Weights(nibbles): the weights of a block of inputs, one per byte, 0 ... 15;
//   Scales(bytes): the block's scales; Sums: an int32 per output;
//   start(q): the initial value that add_block() needs for 32 activations;
//   add_block(sums, weights, scales, q, start): adds scale * (dot product of q and weights - 7 * sum of q);
//   finish(sums, frame, column, quantization, y): stores the outputs.
// `V` is defined in an unnamed namespace; see kernels/generic/vector.h.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstring>

#include "kernels/generic/with_rows.h"
#include "kernels/linear/int4.h"
#include "kernels/linear/row_blocks.h"

namespace sotto::SOTTO_ISA::generic {

// Writes a group of rows to the scratch memory.
template <class V>
inline void prepare_int4(const LinearArgs& args, size_t index) {
  const RowBlock group = RowBlocks(args.rows, V::kMaxRows)[index];
  const size_t blocks = int4_block_count(args.inputs);
  int8_t* to = args.scratch + group.first * blocks * kInt4Block;
  int32_t* start = int4_starts(args) + group.first * blocks;
  for (size_t block = 0; block < blocks; ++block) {
    const size_t first = block * kInt4Block;
    const size_t count = std::min(kInt4Block, args.inputs - first);
    const int8_t* from = args.q + group.first * args.inputs + first;
    for (size_t row = 0; row < group.count; ++row, from += args.inputs) {
      if (count == kInt4Block) {
        std::memcpy(to, from, kInt4Block);
      } else {
        std::memset(to, 0, kInt4Block);
        std::memcpy(to, from, count);
      }
      *start++ = V::start(to);
      to += kInt4Block;
    }
  }
}

// The operands of one group of rows and one tile.
struct Int4Group {
  const int8_t* q;                      // (block, row, 32)
  const int32_t* starts;                // (block, row)
  const RowQuantization* quantization;  // (row)
  float* y;                             // first output of the tile for each row; the rows are `outputs` apart
};

// Computes outputs column ... column + kStrips * V::kColumns - 1 of a tile. With few rows, enough registers are free to
// multiply all strips of a tile together, so that the tile is read once, from front to back.
template <class V, size_t kRows, size_t kStrips>
inline void multiply_strips(const LinearArgs& args, const Int4Group& group, const uint8_t* tile, size_t column,
                            float* y, size_t y_stride) {
  const auto& frame = *reinterpret_cast<const Int4Frame*>(tile);
  const auto* scales = reinterpret_cast<const int8_t*>(tile + sizeof frame) + column;
  const uint8_t* nibbles = tile + int4_nibbles_offset(args.inputs) + column * 4;
  const uint8_t* end = tile + int4_tile_size(args.inputs) + column * 4;
  typename V::Sums sums[kStrips][kRows] = {};
  const int8_t* q = group.q;
  const int32_t* starts = group.starts;
  for (; nibbles < end; nibbles += kInt4BlockBytes, scales += kInt4Columns) {
    V::prefetch(nibbles);
#pragma GCC unroll 4
    for (size_t strip = 0; strip < kStrips; ++strip) {
      const typename V::Weights weights(nibbles + strip * V::kColumns * 4);
      const typename V::Scales block_scales(scales + strip * V::kColumns);
#pragma GCC unroll 20
      for (size_t row = 0; row < kRows; ++row) {
        V::add_block(sums[strip][row], weights, block_scales, q + row * kInt4Block, starts + row);
      }
    }
    q += kRows * kInt4Block;
    starts += kRows;
  }
#pragma GCC unroll 4
  for (size_t strip = 0; strip < kStrips; ++strip) {
#pragma GCC unroll 20
    for (size_t row = 0; row < kRows; ++row) {
      V::finish(sums[strip][row], frame, column + strip * V::kColumns, group.quantization[row],
                y + row * y_stride + strip * V::kColumns);
    }
  }
}

template <class V, size_t kRows>
void multiply_tile(const LinearArgs& args, const Int4Group& group, const uint8_t* tile, size_t columns) {
  constexpr size_t kWidth = kRows <= V::kMaxRowsOfWholeTile ? kInt4Columns : V::kColumns;
  float part[kRows * kInt4Columns];
  const bool is_whole = columns == kInt4Columns;
  float* y = is_whole ? group.y : part;
  const size_t stride = is_whole ? args.outputs : kInt4Columns;
  for (size_t column = 0; column < kInt4Columns; column += kWidth) {
    multiply_strips<V, kRows, kWidth / V::kColumns>(args, group, tile, column, y + column, stride);
  }
  for (size_t row = 0; !is_whole && row < kRows; ++row) {
    std::memcpy(group.y + row * args.outputs, part + row * kInt4Columns, columns * sizeof(float));
  }
}

template <class V>
inline void multiply_int4(const LinearArgs& args, size_t first_tile, size_t tile_count) {
  const size_t blocks = int4_block_count(args.inputs);
  const size_t tile_size = int4_tile_size(args.inputs);
  const RowBlocks groups(args.rows, V::kMaxRows);
  const uint8_t* tile = args.weights + first_tile * tile_size;
  for (size_t t = first_tile; t < first_tile + tile_count; ++t, tile += tile_size) {
    const size_t columns = std::min(kInt4Columns, args.outputs - t * kInt4Columns);
    for (const RowBlock rows : groups) {
      const Int4Group group = {args.scratch + rows.first * blocks * kInt4Block, int4_starts(args) + rows.first * blocks,
                               args.quantization + rows.first, args.y + rows.first * args.outputs + t * kInt4Columns};
      with_rows<1, V::kMaxRows>(rows.count, [&](auto count) { multiply_tile<V, count>(args, group, tile, columns); });
    }
  }
}

template <class V>
constexpr MatrixKernels make_int4_kernels() {
  constexpr MatrixKernel kKernel = {
      .prepare = prepare_int4<V>, .multiply = multiply_int4<V>, .task_tiles = 4, .group_rows = V::kMaxRows};
  return {nullptr, kKernel, kKernel};
}

}  // namespace sotto::SOTTO_ISA::generic
