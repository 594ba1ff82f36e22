// Int8 weights in XNNPACK's packed layout, and the kernels that multiply from it where XNNPACK's own leave much of the
// machine idle.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace sotto {

// XNNPACK packs a tile of columns as: minus their sums (int32); for each kTileDepth inputs (zero-padded) the columns
// one after the other; scales; biases.
inline constexpr uint32_t kTileDepth = 8;
// With fewer inputs, scratch memory would exceed four times the activations. With more, a column's sum would not fit 22
// bits and a sign.
inline constexpr uint32_t kMinTileInputs = 32;
inline constexpr uint32_t kMaxTileInputs = 32768;

// Scratch for reordered activations: up to 12 rows, 2 bytes per input padded to 8; more rows, tiles of 16 rows by 64
// inputs, which also hold 2 bytes per input of half the rows.
inline constexpr size_t kSmallBatchRows = 12;
constexpr size_t int8_scratch_size(size_t rows, size_t inputs) {
  if (rows <= kSmallBatchRows) return rows * ((inputs + 7) / 8 * 8) * sizeof(int16_t);
  return (rows + 15) / 16 * 16 * ((inputs + 63) / 64 * 64);
}

struct Int8Args {
  const void* packed;
  size_t inputs;
  size_t outputs;
  size_t rows;
  const int8_t* q;                      // (row, inputs), and kActivationPadding readable bytes
  const RowQuantization* quantization;  // (row)
  float* y;                             // (row, outputs)
  int8_t* ordered;                      // int8_scratch_size() bytes, aligned to 64
};

struct Int8Batch {
  void (*prepare)(const Int8Args& args);  // writes `ordered`; null: nothing to prepare
  // Computes tiles first_tile ... first_tile + tile_count - 1, with the bits of kernels/linear/linear.h.
  void (*multiply)(const Int8Args& args, size_t first_tile, size_t tile_count);
  size_t task_tiles;  // tiles per task where several threads share the work
  size_t passes = 1;  // passes over the tiles, each for a part of the rows
};

// Decoding has one row per step, beam search a few: the weights come from memory once, and the multiplications hide
// in the time that this takes. With more rows, as in a prefill, the multiplications are the limit.
struct Int8Kernels {
  uint32_t columns;  // of a tile
  Int8Batch small;   // at most kSmallBatchRows
  Int8Batch large;   // more
};

}  // namespace sotto
