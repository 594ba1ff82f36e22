// The layout of packed int8 weights, that of XNNPACK's GEMM microkernels qd8-f32-qc8w.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/linear/matrix_kernels.h"

namespace sotto {

// A packed tile:
//   sums | depth 0: column 0, column 1, ... | depth 1: ... | scales | biases
// The sums of the columns are int32, and negated, so that a kernel adds zero_point times such a sum to a dot product. A
// depth (XNNPACK's kr) contains the weights of `depth` inputs, zero-padded, for each column in turn. Scales and biases
// are floats, one per column.
//
// Example: with 2 columns, depth 2 and 4 inputs, the weights w(column, input) have this order:
//   w(0, 0) w(0, 1) w(1, 0) w(1, 1) | w(0, 2) w(0, 3) w(1, 2) w(1, 3)
//
// With `rotations` (XNNPACK's sr) r > 1, r consecutive depths form a group. Column c stores it rotated by c % r: depth
// c % r comes first. A kernel then rotates the activations to match, instead of broadcasting each depth to all columns.
struct TileLayout {
  uint32_t columns;
  uint32_t depth;
  uint32_t rotations;
  // Limits on the number of inputs. Beyond them, the packed weights of a layer are plain rows, and scalar code
  // multiplies them.
  uint32_t min_inputs;
  uint32_t max_inputs;

  constexpr bool has_tiles(uint32_t inputs) const { return inputs >= min_inputs && inputs <= max_inputs; }
  constexpr size_t tile_size(size_t inputs) const {
    const size_t group = size_t{depth} * rotations;
    return columns * (align_up(inputs, group) + sizeof(int32_t) + 2 * sizeof(float));
  }
};

// The layouts of x86-64 and WebAssembly. With fewer inputs, scratch memory would exceed four times the activations.
// With more, the sum of a column would not fit 22 bits and a sign.
inline constexpr uint32_t kTileDepth = 8;
inline constexpr uint32_t kMinTileInputs = 32;
inline constexpr uint32_t kMaxTileInputs = 32768;
inline constexpr TileLayout kTilesOf8 = {8, kTileDepth, 1, kMinTileInputs, kMaxTileInputs};
inline constexpr TileLayout kTilesOf16 = {16, kTileDepth, 1, kMinTileInputs, kMaxTileInputs};

// The layouts of ARM, by instruction set.
inline constexpr TileLayout kNeonTiles = {8, 2, 4, 1, std::numeric_limits<uint32_t>::max()};
inline constexpr TileLayout kDotprodTiles = {16, 4, 1, 1, std::numeric_limits<uint32_t>::max()};
inline constexpr TileLayout kI8mmTiles = {16, 8, 1, 1, std::numeric_limits<uint32_t>::max()};

// Returns the size of the scratch memory that holds the reordered activations. A small batch takes 2 bytes per input
// of each row, padded to 8 inputs. A large batch takes 1 byte, in tiles of 16 rows by 64 inputs. Kernels that need 2
// bytes make two passes over a large batch, each over half of its rows.
constexpr size_t int8_scratch_size(size_t rows, size_t inputs) {
  if (rows <= kSmallBatchRows) return rows * align_up(inputs, 8) * sizeof(int16_t);
  return align_up(rows, 16) * align_up(inputs, 64);
}

}  // namespace sotto
