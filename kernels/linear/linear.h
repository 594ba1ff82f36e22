// Linear layers y = x W^T + b with int8 weights (one scale an output) and int8 rows of
// activations (RowQuantization): exact int32 accumulators, then per output
// y = fma(float(acc) * row.scale, weight_scale, bias). Two engines with equal bits:
// XNNPACK's qd8-f32-qc8w on a packed copy of the weights, and a scalar reference on the
// plain rows, which also serves CPUs where XNNPACK's kernels differ in the last bit.
// Weights of 4 bits have engines of their own (kernels/linear/int4_linear.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "kernels/linear/linear_weights.h"
#include "kernels/thread_pool.h"

namespace sotto {

// Settles which engine this process multiplies with, for all models. kReference is always
// possible beside another. False where the process already runs another instruction set.
bool select_linear_isa(Isa isa);

// Whether `isa` multiplies from packed weights; the reference engine does not.
bool linear_needs_packing(Isa isa);

// Identifies the packed layout of the selected instruction set and XNNPACK build.
uint64_t packed_layout_fingerprint();

// Bytes the packed weights of a shape take on the selected instruction set; a multiple of 64.
size_t packed_size(uint32_t inputs, uint32_t outputs);

// Packs into `packed` (64-byte aligned, packed_size_bound bytes). Returns the bytes used,
// 0 on failure. May use a few KB of stack, allocates nothing.
size_t pack_linear(const LinearWeights& weights, void* packed);

// Whether read_packed_row() can read what the selected instruction set packs.
bool packed_rows_are_readable();

// q (inputs) = row `output` of weights.packed.
void read_packed_row(const LinearWeights& weights, size_t output, int8_t* q);

// One per shape and session: XNNPACK's operators are mutable.
class LinearOperator;

// Builds the operator of a shape in `memory` (64-byte aligned, kLinearOperatorBytes).
// Null on failure.
LinearOperator* create_linear_operator(uint32_t inputs, uint32_t outputs, Isa isa, void* memory);

// y (row, outputs) for `rows` rows: q (row, inputs) int8, followed by kActivationPadding
// readable bytes; quantization (row) followed by kQuantizationPadding entries. The call may
// overwrite these entries. `scratch`: linear_scratch_size() bytes, aligned to 64.
// `weights` has the operator's shape. False only on misuse.
bool run_linear(LinearOperator* op, const LinearWeights& weights, size_t rows, const int8_t* q,
                RowQuantization* quantization, float* y, void* scratch, ThreadPool* pool);

// Those outputs of one row of activations that have a bit in `wanted` (outputs bits), with the
// bits of run_linear(); the rest of y (outputs) may be overwritten. Worth it for a percent of
// them, and where packed_rows_are_readable() if weights.packed is used. `scratch`: inputs bytes
// and linear_scratch_size() of one row, aligned to 64.
void run_linear_outputs(const LinearOperator* op, const LinearWeights& weights, const uint64_t* wanted, const int8_t* q,
                        const RowQuantization& quantization, float* y, void* scratch);

// 0 for one row and int8 weights.
size_t linear_scratch_size(const LinearWeights& weights, size_t rows);

// y (inputs) = the weights of one output as an embedding, plus `position`: for int8
// Kernels::embed of the row, in `weights.packed` or `weights.rows`, with `q` (inputs) as scratch
// memory; for 4 bits embed_int4().
void embed_row(const Kernels& kernels, const LinearWeights& weights, size_t output, const float* position, int8_t* q,
               float* y);

}  // namespace sotto
