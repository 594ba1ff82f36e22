// The interface of the kernels of linear layers. There are two kinds: for packed int8 weights (int8.h) and for 4-bit
// weights (int4.h). Both multiply tiles, each with the weights of a few outputs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "kernels/thread_pool.h"

namespace sotto {

struct TileLayout;

// Maximum number of rows in a small batch.
inline constexpr size_t kSmallBatchRows = 12;

// The operands of a multiplication.
struct LinearArgs {
  const uint8_t* weights;  // packed int8 weights, or the tiles of 4-bit weights
  size_t inputs;
  size_t outputs;
  size_t rows;
  const int8_t* q;                      // (row, inputs), followed by kActivationPadding readable bytes
  const RowQuantization* quantization;  // (row)
  float* y;                             // (row, outputs)
  int8_t* scratch;                      // int8_scratch_size() or int4_scratch_size() bytes, aligned to 64
};

// The kernel for batches of one size.
struct MatrixKernel {
  // Writes a group of rows to the scratch memory, in the order of the reads. Null if multiply() reads only q.
  void (*prepare)(const LinearArgs& args, size_t group);
  // Computes tiles first_tile ... first_tile + tile_count - 1, with the bits that the layer's definition requires.
  void (*multiply)(const LinearArgs& args, size_t first_tile, size_t tile_count);
  size_t task_tiles;      // number of tiles in a task, if several threads share the work
  size_t passes = 1;      // number of passes over the tiles; each processes some of the rows
  size_t group_rows = 0;  // maximum number of rows in a group; 0 for all rows
};

// The kernels of an instruction set for one kind of weights. There are two, because few rows, as in decoding and beam
// search, are limited by memory bandwidth, and the many rows of a prefill by arithmetic.
struct MatrixKernels {
  const TileLayout* layout;  // of int8 weights; null for 4-bit weights
  MatrixKernel small;        // for at most kSmallBatchRows rows
  MatrixKernel large;        // for more rows
};

// Computes a whole layer. `tile_columns` is the number of outputs of a tile.
void run_matrix(const MatrixKernels& kernels, size_t tile_columns, const LinearArgs& args, ThreadPool* pool);

}  // namespace sotto
