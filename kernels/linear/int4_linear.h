// y = x W^T + b with weights of 4 bits (kernels/linear/int4_tiles.h) and int8 rows of activations
// (RowQuantization): sum = sum over blocks of block_scale * (sum of q * (nibble - 7)), minus
// zero_point * frame.sums, all in int32 modulo 2^32, so exact in any order; then
// y = fma(float(sum) * row.scale, scale, bias).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "kernels/linear/int4_tiles.h"
#include "kernels/thread_pool.h"

namespace sotto {

// Whether this build can use them; where not, no other function here is called.
bool int4_available();

// What the instruction sets multiply from: rows of activations in groups of nearly equal size,
// in each group (block, row, 32) of them, zero-padded, and (block, row) of what sums begin
// with: -7 times the sum of the 32.
struct Int4Args {
  const uint8_t* tiles;
  size_t inputs;
  size_t outputs;
  size_t rows;
  const int8_t* q;                      // (row, inputs)
  const RowQuantization* quantization;  // (row)
  float* y;                             // (row, outputs)
  int8_t* grouped;                      // (rows * blocks * 32)
  int32_t* starts;                      // (rows * blocks)
};

struct Int4Kernels {
  size_t group_rows;  // the most in a group
  void (*prepare)(const Int4Args& args, size_t group);
  // Tiles first_tile ... first_tile + tile_count - 1.
  void (*multiply)(const Int4Args& args, size_t first_tile, size_t tile_count);
};

// Rows first ... first + count - 1.
struct RowGroup {
  size_t first;
  size_t count;
};
constexpr size_t row_group_count(size_t rows, size_t group_rows) { return (rows + group_rows - 1) / group_rows; }
constexpr RowGroup row_group(size_t rows, size_t group_count, size_t index) {
  const size_t least = rows / group_count, larger = rows % group_count;
  return {index * least + (index < larger ? index : larger), least + (index < larger ? 1 : 0)};
}

// Null where the build lacks the instruction set; that of kReference, too. One file an
// architecture.
const Int4Kernels* built_int4_kernels(Isa isa);

// Bytes of scratch memory a multiplication of `rows` rows needs.
constexpr size_t int4_scratch_size(size_t rows, size_t inputs) {
  return rows * int4_block_count(inputs) * (kInt4Block + sizeof(int32_t));
}

// The whole layer. `kernels` null: by its definition, in scalar code.
void run_int4_linear(const Int4Kernels* kernels, const Int4Args& args, ThreadPool* pool);

// y = fma(float(nibble - 7), float(block_scale) * scale, position): the embedding of the token
// whose weights are those of `output`, at a position. (inputs)
void embed_int4(const Kernels& kernels, const uint8_t* tiles, size_t inputs, size_t output, const float* position,
                float* y);

namespace avx2 {
extern const Int4Kernels kInt4Kernels;
}  // namespace avx2
namespace avx512 {
extern const Int4Kernels kInt4Kernels;
}  // namespace avx512
namespace avx512vnni {
extern const Int4Kernels kInt4Kernels;
}  // namespace avx512vnni
namespace neon {
extern const Int4Kernels kInt4Kernels;
}  // namespace neon
namespace neon_dotprod {
extern const Int4Kernels kInt4Kernels;
}  // namespace neon_dotprod

}  // namespace sotto
