// Linear layers of a few rows, which beam search and its relatives have at every step: weights
// come from memory once, and the multiplications hide behind that. XNNPACK's kernels for more
// than one row compute ten.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace sotto {

inline constexpr size_t kSmallBatchRows = 8;  // the most; the fewest are 2

// XNNPACK's packed weights of kTileColumns columns: minus their sums (int32); for each
// kTileDepth inputs (zero-padded) the columns one after the other; scales; biases.
inline constexpr uint32_t kTileColumns = 16;
inline constexpr uint32_t kTileDepth = 8;

struct SmallBatchArgs {
  const void* packed;
  size_t inputs;
  size_t outputs;
  size_t rows;
  const int8_t* q;  // (row, inputs), and kActivationPadding readable bytes
  const RowQuantization* quantization;  // (row)
  float* y;  // (row, outputs)
};

// Tiles first_tile ... first_tile + tile_count - 1, with the bits of kernels/linear.h.
using SmallBatchFunction = void (*)(const SmallBatchArgs& args, size_t first_tile,
                                    size_t tile_count);

// Null where XNNPACK is as good, or the build lacks the instruction set. One file an
// architecture.
SmallBatchFunction built_small_batch(Isa isa);

namespace avx512vnni {
void multiply_small_batch(const SmallBatchArgs& args, size_t first_tile, size_t tile_count);
}  // namespace avx512vnni

}  // namespace sotto
