// Linear layers y = x W^T + b with int8 weights (one scale per output) and int8 rows of activations (RowQuantization).
// Sums are exact int32; then each output is y = fma(float(sum) * row.scale, weight_scale, bias).
//
// Three engines give equal bits. The kernels of kernels/linear/int8.h on x86-64 and XNNPACK's qd8-f32-qc8w kernels on
// ARM multiply from packed weights. The reference multiplies from plain rows. Weights of 4 bits have kernels and a
// definition of their own (kernels/linear/int4.h).
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
  const float* bias = nullptr;    // (outputs), or null for zero
  const void* packed = nullptr;   // set once packed, in the layout of the instruction set
  // Weights of 4 bits (kernels/linear/int4.h). If set, all other pointers are null.
  const uint8_t* tiles = nullptr;
};

// Readable bytes after the rows, because packing reads rows of any length in whole words.
inline constexpr size_t kWeightPadding = 8;
// Readable bytes after the activations, and extra entries after their quantization, that an engine may read.
inline constexpr size_t kActivationPadding = 128;
inline constexpr size_t kQuantizationPadding = 16;

// Memory for the operator of one shape.
inline constexpr size_t kLinearOperatorBytes = 12288;

// Returns an upper bound of packed_size() over all instruction sets, a multiple of 64, so that memory sizes do not
// depend on the CPU:
//   round_up(outputs, 64) * (round_up(inputs, 32) + 16)
constexpr size_t packed_size_bound(size_t inputs, size_t outputs) {
  return (outputs + 63) / 64 * 64 * ((inputs + 31) / 32 * 32 + 16);
}

// Selects the instruction set for which this process packs weights, in all models. kReference is always possible in
// addition. Returns false if the process already uses another packed layout, or on ARM another instruction set.
bool select_linear_isa(Isa isa);

// Returns whether `isa` multiplies from packed weights, as all but kReference do. The functions below are for these.
bool linear_needs_packing(Isa isa);

// Identifies the packed layout of the selected instruction set, on ARM also the build of XNNPACK.
uint64_t packed_layout_fingerprint();

// Returns the size in bytes of the packed weights of a shape on the selected instruction set, a multiple of 64.
size_t packed_size(uint32_t inputs, uint32_t outputs);

// Packs into `packed`, which has packed_size_bound() bytes aligned to 64. Returns the number of bytes used, or 0 on
// failure. Uses up to a few KB of stack and allocates nothing.
size_t pack_linear(const LinearWeights& weights, void* packed);

// Returns whether read_packed_row() can read the layout of the selected instruction set.
bool packed_rows_are_readable();

// Copies row `output` of weights.packed to q (inputs).
void read_packed_row(const LinearWeights& weights, size_t output, int8_t* q);

// The engine of one shape. Each session has its own, because XNNPACK's operators are mutable.
class LinearOperator;

// Builds the operator of a shape in `memory`, which has kLinearOperatorBytes aligned to 64. Returns null on failure.
LinearOperator* create_linear_operator(uint32_t inputs, uint32_t outputs, Isa isa, void* memory);

// Computes y (row, outputs) for `rows` rows, at least one. `q` (row, inputs) is followed by kActivationPadding readable
// bytes, and `quantization` (row) by kQuantizationPadding entries, which the call may overwrite. `scratch` has
// linear_scratch_size() bytes, aligned to 64. `weights` has the operator's shape. Returns false only on misuse.
bool run_linear(LinearOperator* op, const LinearWeights& weights, size_t rows, const int8_t* q,
                RowQuantization* quantization, float* y, void* scratch, ThreadPool* pool);

// Computes, for one row of activations, the outputs whose bit in `wanted` (outputs bits) is set, with the bits of
// run_linear(). The rest of y (outputs) may be overwritten. This pays off up to about one percent of the outputs.
// weights.packed requires packed_rows_are_readable(). `scratch` has inputs bytes and linear_scratch_size() of one row,
// aligned to 64.
void run_linear_outputs(const LinearOperator* op, const LinearWeights& weights, const uint64_t* wanted, const int8_t* q,
                        const RowQuantization& quantization, float* y, void* scratch);

// Returns the bytes of scratch memory that run_linear() needs.
size_t linear_scratch_size(const LinearWeights& weights, size_t rows);

// Computes y (inputs): the weights of one output as an embedding, plus `position`. This is Kernels::embed of the row in
// weights.packed or weights.rows, with `q` (inputs) as scratch memory, or embed_int4().
void embed_row(const Kernels& kernels, const LinearWeights& weights, size_t output, const float* position, int8_t* q,
               float* y);

}  // namespace sotto
