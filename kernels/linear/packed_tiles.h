// Linear layers over XNNPACK's packed weights, where XNNPACK's own kernels leave much of the
// machine idle.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace sotto {

// XNNPACK's packed weights of a tile of columns: minus their sums (int32); for each kTileDepth
// inputs (zero-padded) the columns one after the other; scales; biases.
inline constexpr uint32_t kTileDepth = 8;
// The fewest: scratch memory is at most four times the activations. The most: sums of columns
// fit 22 bits and a sign.
inline constexpr uint32_t kMinTileInputs = 32;
inline constexpr uint32_t kMaxTileInputs = 32768;

// What kernels make of activations: for few rows at most two bytes of each, in whole depths; else
// tiles of 16 rows by 64 inputs at the most, or two bytes of each of half the rows.
inline constexpr size_t kSmallBatchRows = 12;
constexpr size_t tile_scratch_size(size_t rows, size_t inputs) {
  if (rows <= kSmallBatchRows) return rows * ((inputs + 7) / 8 * 8) * sizeof(int16_t);
  return (rows + 15) / 16 * 16 * ((inputs + 63) / 64 * 64);
}

struct TileArgs {
  const void* packed;
  size_t inputs;
  size_t outputs;
  size_t rows;
  const int8_t* q;                      // (row, inputs), and kActivationPadding readable bytes
  const RowQuantization* quantization;  // (row)
  float* y;                             // (row, outputs)
  int8_t* ordered;                      // tile_scratch_size() bytes, aligned to 64
};

// Tiles first_tile ... first_tile + tile_count - 1, with the bits of kernels/linear/linear.h.
using TileFunction = void (*)(const TileArgs& args, size_t first_tile, size_t tile_count);

struct TileBatch {
  void (*prepare)(const TileArgs& args);  // writes `ordered`; null: nothing to do
  TileFunction multiply;
  size_t task_tiles;  // that a thread of several takes at once
  size_t passes = 1;  // over the tiles, each for a part of the rows
};

// Two ways to go. Decoding has one row at every step, beam search and its relatives a few:
// weights come from memory once, and the multiplications hide behind that. With more rows, as
// in a prefill, multiplications are the limit.
struct TileKernels {
  uint32_t columns;  // of a tile
  TileBatch small;   // at most kSmallBatchRows
  TileBatch large;   // more
};

// Null where XNNPACK is as good, or the build lacks the instruction set. One file an
// architecture.
const TileKernels* built_tile_kernels(Isa isa);

namespace avx2 {
extern const TileKernels kTileKernels;
}  // namespace avx2
namespace avxvnni {
extern const TileKernels kTileKernels;
}  // namespace avxvnni
namespace avx512 {
extern const TileKernels kTileKernels;
}  // namespace avx512
namespace avx512vnni {
extern const TileKernels kTileKernels;
}  // namespace avx512vnni
namespace avx512amx {
extern const TileKernels kTileKernels;
}  // namespace avx512amx

}  // namespace sotto
