// Linear layers y = x W^T + b with int8 weights (one scale per output) and int8 rows of activations (RowQuantization):
// exact int32 accumulators, then per output y = fma(float(acc) * row.scale, weight_scale, bias). Two engines give equal
// bits: one multiplies from weights that XNNPACK has packed, by its qd8-f32-qc8w kernels or those of
// kernels/linear/int8.h; the other is scalar code over plain rows, which also serves CPUs where XNNPACK's kernels
// differ in the last bit. Weights of 4 bits have kernels and a definition of their own (kernels/linear/int4.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "kernels/thread_pool.h"

namespace sotto {

struct LinearWeights {
  uint32_t inputs = 0;
  uint32_t outputs = 0;
  // (outputs, inputs), in [-127, 127]; for packing, followed by kWeightPadding readable bytes
  const int8_t* rows = nullptr;
  const float* scales = nullptr;  // (outputs)
  const float* bias = nullptr;    // (outputs); null: zero
  const void* packed = nullptr;   // set once packed; XNNPACK's layout
  // Weights of 4 bits (kernels/linear/int4.h); all other pointers are null then.
  const uint8_t* tiles = nullptr;
};

// Packing reads rows of any length in whole words.
inline constexpr size_t kWeightPadding = 8;
// Bytes that an engine may read after the activations, and extra entries of quantization.
inline constexpr size_t kActivationPadding = 128;
inline constexpr size_t kQuantizationPadding = 16;

// Memory for the operator of one shape.
inline constexpr size_t kLinearOperatorBytes = 12288;

// Upper bound of packed_size() over all instruction sets, a multiple of 64, so that memory sizes do not depend on the
// CPU:
//   round_up(outputs, 64) * (round_up(inputs, 32) + 16)
constexpr size_t packed_size_bound(size_t inputs, size_t outputs) {
  return (outputs + 63) / 64 * 64 * ((inputs + 31) / 32 * 32 + 16);
}

// Selects the instruction set that this process multiplies with, for all models. kReference is always possible next to
// another. Returns false if the process already uses another instruction set.
bool select_linear_isa(Isa isa);

// Returns whether `isa` multiplies from packed weights; kReference does not. In a build without XNNPACK there is no
// other, and the functions for packed weights are not called.
bool linear_needs_packing(Isa isa);

// Identifies the packed layout of the selected instruction set and XNNPACK build.
uint64_t packed_layout_fingerprint();

// Returns the size in bytes of the packed weights of a shape on the selected instruction set; a multiple of 64.
size_t packed_size(uint32_t inputs, uint32_t outputs);

// Packs into `packed` (64-byte aligned, packed_size_bound bytes). Returns the number of bytes used, 0 on failure. Uses
// up to a few KB of stack and allocates nothing.
size_t pack_linear(const LinearWeights& weights, void* packed);

// Returns whether read_packed_row() can read the layout of the selected instruction set.
bool packed_rows_are_readable();

// Copies row `output` of weights.packed to q (inputs).
void read_packed_row(const LinearWeights& weights, size_t output, int8_t* q);

// The engine of one shape. Each session has its own, because XNNPACK's operators are mutable.
class LinearOperator;

// Builds the operator of a shape in `memory` (64-byte aligned, kLinearOperatorBytes). Null on failure.
LinearOperator* create_linear_operator(uint32_t inputs, uint32_t outputs, Isa isa, void* memory);

// Computes y (row, outputs) for `rows` rows, at least one: q (row, inputs) is followed by kActivationPadding readable
// bytes, quantization (row) by kQuantizationPadding entries, which the call may overwrite. `scratch` has
// linear_scratch_size() bytes, aligned to 64. `weights` has the operator's shape. False only on misuse.
bool run_linear(LinearOperator* op, const LinearWeights& weights, size_t rows, const int8_t* q,
                RowQuantization* quantization, float* y, void* scratch, ThreadPool* pool);

// Computes, for one row of activations, the outputs whose bit in `wanted` (outputs bits) is set, with the bits of
// run_linear(); the rest of y (outputs) may be overwritten. It pays off for about a percent of the outputs.
// weights.packed requires packed_rows_are_readable(). `scratch` has inputs bytes and linear_scratch_size() of one row,
// aligned to 64.
void run_linear_outputs(const LinearOperator* op, const LinearWeights& weights, const uint64_t* wanted, const int8_t* q,
                        const RowQuantization& quantization, float* y, void* scratch);

// Returns the bytes of scratch memory that run_linear() needs.
size_t linear_scratch_size(const LinearWeights& weights, size_t rows);

// Computes y (inputs), the weights of one output as an embedding plus `position`: Kernels::embed of the row in
// weights.packed or weights.rows, with `q` (inputs) as scratch memory, or embed_int4().
void embed_row(const Kernels& kernels, const LinearWeights& weights, size_t output, const float* position, int8_t* q,
               float* y);

}  // namespace sotto
