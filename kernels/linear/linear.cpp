#include "kernels/linear/linear.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "kernels/linear/int4.h"
#include "kernels/linear/int8.h"
#include "kernels/linear/reference.h"
#include "kernels/linear/row_blocks.h"

namespace sotto {
namespace {

// True if this build has 4-bit layers. Otherwise their code is compiled, but the linker drops it.
constexpr bool kHasInt4 = SOTTO_HAS_INT4 != 0;

void run_int8_outputs(const LinearWeights& weights, const uint64_t* wanted, const int8_t* q,
                      const RowQuantization& quantization, float* y, int8_t* row) {
  for (size_t first = 0; first < weights.outputs; first += 64) {
    uint64_t rest = wanted[first / 64];
    if (weights.outputs - first < 64) rest &= (uint64_t{1} << (weights.outputs - first)) - 1;
    for (; rest != 0; rest &= rest - 1) {
      const size_t output = first + static_cast<size_t>(std::countr_zero(rest));
      const int8_t* from = weights.rows + output * weights.inputs;
      if (weights.packed != nullptr) {
        read_packed_row(weights, output, row);
        from = row;
      }
      y[output] = reference::run_linear_output(weights, output, from, q, quantization);
    }
  }
}

void run_int4_outputs(const MatrixKernels& kernels, const LinearArgs& args, const uint64_t* wanted) {
  static_assert(64 % kInt4Columns == 0);
  constexpr uint64_t kTile = (uint64_t{1} << kInt4Columns) - 1;
  if (kernels.small.prepare != nullptr) kernels.small.prepare(args, 0);
  for (size_t output = 0; output < args.outputs; output += kInt4Columns) {
    if ((wanted[output / 64] >> (output % 64) & kTile) == 0) continue;
    kernels.small.multiply(args, output / kInt4Columns, 1);
  }
}

}  // namespace

bool int4_available() { return kHasInt4; }

const TileLayout* packed_layout(Isa isa) {
  const MatrixKernels* kernels = linear_kernels(isa).int8;
  return kernels == nullptr ? nullptr : kernels->layout;
}

uint64_t layout_fingerprint(const TileLayout& layout) {
  // A matrix with incomplete tiles in both directions. Its neighbouring bytes differ, so that the hash depends on their
  // order.
  constexpr uint32_t kInputs = 43, kOutputs = 67;
  int8_t rows[kOutputs * kInputs + kWeightPadding] = {};
  float scales[kOutputs], bias[kOutputs];
  for (uint32_t i = 0; i < kOutputs * kInputs; ++i) rows[i] = static_cast<int8_t>(i * 37 % 255 - 127);
  for (uint32_t i = 0; i < kOutputs; ++i) {
    scales[i] = static_cast<float>(1 + i);
    bias[i] = static_cast<float>(1000 + i);
  }
  alignas(64) uint8_t packed[packed_size_bound(kInputs, kOutputs)];
  const size_t size = pack_linear(layout, {kInputs, kOutputs, rows, scales, bias, nullptr}, packed);
  // FNV-1a
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ packed[i]) * 1099511628211u;
  return hash;
}

void run_matrix(const MatrixKernels& kernels, size_t tile_columns, const LinearArgs& args, ThreadPool* pool) {
  const MatrixKernel& kernel = args.rows <= kSmallBatchRows ? kernels.small : kernels.large;
  const size_t tile_count = divide_up(args.outputs, tile_columns);
  const size_t tiles_per_task = pool == nullptr ? tile_count : kernel.task_tiles;
  // Each pass multiplies some of the rows, so that its activations fit the scratch memory.
  for (const RowBlock pass : RowBlocks(args.rows, divide_up(args.rows, kernel.passes))) {
    LinearArgs part = args;
    part.rows = pass.count;
    part.q += pass.first * args.inputs;
    part.quantization += pass.first;
    part.y += pass.first * args.outputs;
    if (kernel.prepare != nullptr) {
      const size_t groups = kernel.group_rows == 0 ? 1 : RowBlocks(part.rows, kernel.group_rows).count();
      parallel_for(pool, groups, [&](size_t group) { kernel.prepare(part, group); });
    }
    parallel_for(pool, divide_up(tile_count, tiles_per_task), [&](size_t task) {
      const size_t first = task * tiles_per_task;
      kernel.multiply(part, first, std::min(tiles_per_task, tile_count - first));
    });
  }
}

void run_linear(const LinearKernels& kernels, const LinearWeights& weights, size_t rows, const int8_t* q,
                const RowQuantization* quantization, float* y, void* scratch, ThreadPool* pool) {
  LinearArgs args = {
      weights.tiles, weights.inputs, weights.outputs, rows, q, quantization, y, static_cast<int8_t*>(scratch)};
  if (kHasInt4 && weights.tiles != nullptr) return run_matrix(*kernels.int4, kInt4Columns, args, pool);
  LinearWeights plain = weights;
  if (kernels.int8 != nullptr) {
    assert(weights.layout == kernels.int8->layout);
    if (kernels.int8->layout->has_tiles(weights.inputs)) {
      args.weights = static_cast<const uint8_t*>(weights.packed);
      return run_matrix(*kernels.int8, kernels.int8->layout->columns, args, pool);
    }
    plain.rows = static_cast<const int8_t*>(weights.packed);
  }
  reference::run_linear(plain, rows, q, quantization, y, pool);
}

void run_linear_outputs(const LinearKernels& kernels, const LinearWeights& weights, const uint64_t* wanted,
                        const int8_t* q, const RowQuantization& quantization, float* y, void* scratch) {
  if (kHasInt4 && weights.tiles != nullptr) {
    const LinearArgs args = {
        weights.tiles, weights.inputs, weights.outputs, 1, q, &quantization, y, static_cast<int8_t*>(scratch)};
    run_int4_outputs(*kernels.int4, args, wanted);
  } else {
    run_int8_outputs(weights, wanted, q, quantization, y, static_cast<int8_t*>(scratch));
  }
}

size_t linear_scratch_size(const LinearWeights& weights, size_t rows) {
  if (kHasInt4 && weights.tiles != nullptr) return int4_scratch_size(rows, weights.inputs);
  return weights.inputs < kMinTileInputs ? 0 : int8_scratch_size(rows, weights.inputs);
}

void embed_int4(const Kernels& kernels, const uint8_t* tiles, size_t inputs, size_t output, const float* position,
                float* y) {
  const uint8_t* tile = tiles + output / kInt4Columns * int4_tile_size(inputs);
  const size_t column = output % kInt4Columns;
  float scale;
  std::memcpy(&scale, tile + offsetof(Int4Frame, scales) + column * sizeof scale, sizeof scale);
  const uint8_t* block_scale = tile + sizeof(Int4Frame) + column;
  const uint8_t* nibbles = tile + int4_nibbles_offset(inputs);
  int8_t weights[kInt4Block];
  for (size_t first = 0; first < inputs; first += kInt4Block, block_scale += kInt4Columns) {
    const size_t count = std::min(kInt4Block, inputs - first);
    for (size_t i = 0; i < count; ++i) {
      const NibblePosition at = int4_nibble(first + i, column);
      weights[i] = static_cast<int8_t>((nibbles[at.byte] >> at.shift & 15) - kInt4Zero);
    }
    const auto block = static_cast<float>(static_cast<int8_t>(*block_scale));
    kernels.embed(weights, block * scale, position + first, count, y + first);
  }
}

void embed_row(const Kernels& kernels, const LinearWeights& weights, size_t output, const float* position, int8_t* q,
               float* y) {
  if (kHasInt4 && weights.tiles != nullptr) {
    embed_int4(kernels, weights.tiles, weights.inputs, output, position, y);
    return;
  }
  const int8_t* row = weights.rows + output * weights.inputs;
  if (weights.packed != nullptr) {
    read_packed_row(weights, output, q);
    row = q;
  }
  kernels.embed(row, weights.scales[output], position, weights.inputs, y);
}

}  // namespace sotto
