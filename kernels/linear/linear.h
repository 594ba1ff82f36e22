// Linear layers y = x W^T + b with int8 weights (one scale per output) and int8 rows of activations (RowQuantization).
// Sums are exact int32, and each output is y = fma(float(sum) * row.scale, weight_scale, bias). As in XNNPACK, denormal
// operands and results of these float operations count as zeros of the same sign. 4-bit layers keep denormals.
//
// There are two implementations with the same bits. The kernels of an instruction set (matrix_kernels.h) read packed
// weights; on ARM they may be XNNPACK's. The reference reads plain rows. 4-bit weights have kernels and a definition of
// their own (kernels/linear/int4.h).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/kernels.h"
#include "kernels/thread_pool.h"

namespace sotto {

struct MatrixKernels;
struct TileLayout;

// The weights of a linear layer, in one or more forms.
struct LinearWeights {
  uint32_t inputs = 0;
  uint32_t outputs = 0;
  // (outputs, inputs), values in [-127, 127]. Packing requires that kWeightPadding readable bytes follow.
  const int8_t* rows = nullptr;
  const float* scales = nullptr;       // (outputs)
  const float* bias = nullptr;         // (outputs), or null for zero
  const void* packed = nullptr;        // the packed weights, or null
  const TileLayout* layout = nullptr;  // that of `packed`
  // 4-bit weights (kernels/linear/int4.h). If set, all other pointers are null.
  const uint8_t* tiles = nullptr;
};

// Number of readable bytes that must follow the rows, because packing reads whole words.
inline constexpr size_t kWeightPadding = 8;
// Number of readable bytes that must follow the activations.
inline constexpr size_t kActivationPadding = 128;

// Returns an upper bound of packed_size() over all instruction sets, so that memory sizes do not depend on the CPU. The
// bound is a multiple of 64:
//   align_up(outputs, 64) * (align_up(inputs, 32) + 16),
// or the largest value of `Size` if that overflows.
template <std::unsigned_integral Size = size_t>
constexpr Size packed_size_bound(std::type_identity_t<Size> inputs, std::type_identity_t<Size> outputs) {
  Size bytes = 0;
  const bool overflows = __builtin_mul_overflow((outputs + 63) / 64 * 64, (inputs + 31) / 32 * 32 + 16, &bytes);
  return overflows ? std::numeric_limits<Size>::max() : bytes;
}

// Returns the layout of the packed weights that an instruction set reads. Returns null if it reads plain rows, as
// kReference does, or if this build does not contain it.
const TileLayout* packed_layout(Isa isa);

// Identifies a layout in model files: a hash of packed weights.
uint64_t layout_fingerprint(const TileLayout& layout);

// Returns the size in bytes of the packed weights of a shape, a multiple of 64.
size_t packed_size(const TileLayout& layout, uint32_t inputs, uint32_t outputs);

// Packs weights into the packed_size() bytes of `packed`. Returns that size.
size_t pack_linear(const TileLayout& layout, const LinearWeights& weights, void* packed);

// Returns the part of a layer that computes outputs first_output ... first_output + count - 1. `first_output` must be a
// multiple of kOutputAlignment.
inline constexpr uint32_t kOutputAlignment = 64;
LinearWeights select_outputs(const LinearWeights& weights, uint32_t first_output, uint32_t count);

// Copies row `output` of weights.packed to q (inputs).
void read_packed_row(const LinearWeights& weights, size_t output, int8_t* q);

// The kernels that multiply with an instruction set.
struct LinearKernels {
  const MatrixKernels* int8 = nullptr;  // null for kReference (kernels/linear/reference.h)
  const MatrixKernels* int4 = nullptr;  // null if this build has no 4-bit layers
};

// Returns the kernels of an instruction set from the kernel table, or none if this build does not contain it.
LinearKernels linear_kernels(Isa isa);

// Computes y (row, outputs) for at least one row. `q` (row, inputs) must be followed by kActivationPadding readable
// bytes. `scratch` must have linear_scratch_size() bytes and be aligned to 64. Unless the kernels belong to kReference,
// int8 weights must be packed in the layout of the kernels.
void run_linear(const LinearKernels& kernels, const LinearWeights& weights, size_t rows, const int8_t* q,
                const RowQuantization* quantization, float* y, void* scratch, ThreadPool* pool);

// Computes only the outputs whose bits are set in `wanted`, for one row of activations, with the same bits as
// run_linear(), and may overwrite the others. Bits of `wanted` beyond the last output may have any value. Up to about
// one percent of the outputs, the call is faster than run_linear(). `scratch` must have inputs bytes plus
// linear_scratch_size() of one row, and be aligned to 64.
void run_linear_outputs(const LinearKernels& kernels, const LinearWeights& weights, const uint64_t* wanted,
                        const int8_t* q, const RowQuantization& quantization, float* y, void* scratch);

// Returns the bytes of scratch memory that run_linear() needs.
size_t linear_scratch_size(const LinearWeights& weights, size_t rows);

// Computes y (inputs), the embedding of token `output`: the dequantized row of its weights, plus `position`. Calls
// embed_int4() for 4-bit weights, and otherwise Kernels::embed() with the row from weights.packed or weights.rows. `q`
// (inputs) is scratch memory.
void embed_row(const Kernels& kernels, const LinearWeights& weights, size_t output, const float* position, int8_t* q,
               float* y);

}  // namespace sotto
