// Linear layers y = x W^T + b with int8 weights (one scale per output) and int8 rows of activations (RowQuantization).
// Sums are exact int32. Each output is y = fma(float(sum) * row.scale, weight_scale, bias).
//
// Three engines return the same bits. On x86-64, the kernels of kernels/linear/int8.h multiply from packed weights. On
// ARM, XNNPACK's qd8-f32-qc8w kernels do. The reference multiplies from plain rows. 4-bit weights have kernels and a
// definition of their own (kernels/linear/int4.h).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/kernels.h"
#include "kernels/thread_pool.h"

namespace sotto {

// The weights of a linear layer, in one or more forms.
struct LinearWeights {
  uint32_t inputs = 0;
  uint32_t outputs = 0;
  // (outputs, inputs), values in [-127, 127]; packing requires kWeightPadding readable bytes after them
  const int8_t* rows = nullptr;
  const float* scales = nullptr;  // (outputs)
  const float* bias = nullptr;    // (outputs), or null for zero
  const void* packed = nullptr;   // set if the weights are packed, in the layout of the instruction set
  // 4-bit weights (kernels/linear/int4.h). If set, all other pointers are null.
  const uint8_t* tiles = nullptr;
};

// Number of bytes after the rows that must be readable, because packing reads rows of any length in whole words.
inline constexpr size_t kWeightPadding = 8;
// Number of bytes after the activations, and of entries after their quantization, that an engine may read.
inline constexpr size_t kActivationPadding = 128;
inline constexpr size_t kQuantizationPadding = 16;

// Bytes reserved for the operator of one shape.
inline constexpr size_t kLinearOperatorBytes = 12288;

// Returns an upper bound of packed_size() over all instruction sets, so that memory sizes do not depend on the CPU. It
// is a multiple of 64:
//   round_up(outputs, 64) * (round_up(inputs, 32) + 16),
// or the largest value of `Size` if that overflows.
template <std::unsigned_integral Size = size_t>
constexpr Size packed_size_bound(std::type_identity_t<Size> inputs, std::type_identity_t<Size> outputs) {
  Size bytes = 0;
  const bool overflows = __builtin_mul_overflow((outputs + 63) / 64 * 64, (inputs + 31) / 32 * 32 + 16, &bytes);
  return overflows ? std::numeric_limits<Size>::max() : bytes;
}

// Selects the instruction set for which this process packs weights, in all models. kReference can always be used in
// addition. Returns false if the process already uses another packed layout or, on ARM, another instruction set.
bool select_linear_isa(Isa isa);

// Returns whether `isa` multiplies from packed weights. All instruction sets except kReference do. The functions below
// are for these.
bool linear_needs_packing(Isa isa);

// Identifies the packed layout of the selected instruction set and, on ARM, the build of XNNPACK.
uint64_t packed_layout_fingerprint();

// Returns the size in bytes of the packed weights of a shape with the selected instruction set, which is a multiple of
// 64.
size_t packed_size(uint32_t inputs, uint32_t outputs);

// Packs weights into `packed`, which must have packed_size_bound() bytes and be aligned to 64. Returns the number of
// bytes used, or 0 on failure. Uses a few KB of stack at most and allocates nothing.
size_t pack_linear(const LinearWeights& weights, void* packed);

// Returns whether read_packed_row() can read the layout of the selected instruction set.
bool packed_rows_are_readable();

// Copies row `output` of weights.packed to q (inputs).
void read_packed_row(const LinearWeights& weights, size_t output, int8_t* q);

// The engine for one shape. Each session has its own operators, because XNNPACK's are mutable.
class LinearOperator;

// Builds the operator of a shape in `memory`, which must have kLinearOperatorBytes and be aligned to 64. Returns null
// on failure.
LinearOperator* create_linear_operator(uint32_t inputs, uint32_t outputs, Isa isa, void* memory);

// Computes y (row, outputs) for at least one row. `q` (row, inputs) must be followed by kActivationPadding readable
// bytes, and `quantization` (row) by kQuantizationPadding entries, which the call may overwrite. `scratch` must have
// linear_scratch_size() bytes and be aligned to 64. `weights` must have the shape of the operator. Returns false only
// if it is used incorrectly.
bool run_linear(LinearOperator* op, const LinearWeights& weights, size_t rows, const int8_t* q,
                RowQuantization* quantization, float* y, void* scratch, ThreadPool* pool);

// For one row of activations, computes the outputs whose bits are set in `wanted` (outputs bits), with the same bits as
// run_linear(). The rest of y (outputs) may be overwritten. This is faster than run_linear() for up to about one
// percent of the outputs. weights.packed requires packed_rows_are_readable(). `scratch` must have inputs bytes plus
// linear_scratch_size() of one row, and be aligned to 64.
void run_linear_outputs(const LinearOperator* op, const LinearWeights& weights, const uint64_t* wanted, const int8_t* q,
                        const RowQuantization& quantization, float* y, void* scratch);

// Returns the bytes of scratch memory that run_linear() needs.
size_t linear_scratch_size(const LinearWeights& weights, size_t rows);

// Computes y (inputs): the weights of one output as an embedding, plus `position`. This is Kernels::embed of the row in
// weights.packed or weights.rows, for which `q` (inputs) is scratch memory, or embed_int4().
void embed_row(const Kernels& kernels, const LinearWeights& weights, size_t output, const float* position, int8_t* q,
               float* y);

}  // namespace sotto
