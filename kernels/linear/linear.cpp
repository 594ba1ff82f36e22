#include "kernels/linear/linear.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>

#include "kernels/linear/int4_linear.h"
#include "kernels/linear/packed_tiles.h"
#include "kernels/linear/row_blocks.h"
#include "kernels/reference/int4.h"
#include "kernels/reference/linear.h"
#include "kernels/xnnpack/fully_connected.h"
#include "kernels/xnnpack/process_state.h"

namespace sotto {

class LinearOperator {
 public:
  uint32_t inputs;
  uint32_t outputs;
  xnnpack::FullyConnected* fully_connected;  // null: the reference engine
  const TileKernels* tiles;                  // null: fully_connected takes all batches
  const Int4Kernels* int4;                   // null: the reference engine
};

bool linear_needs_packing(Isa isa) { return isa != Isa::kReference; }

bool select_linear_isa(Isa isa) {
  // AMX multiplies what XNNPACK packs for VNNI.
  if (isa == Isa::kAvx512Amx) isa = Isa::kAvx512Vnni;
  return !linear_needs_packing(isa) || xnnpack::select_isa(isa);
}

uint64_t packed_layout_fingerprint() { return xnnpack::packed_layout_fingerprint(); }

size_t packed_size(uint32_t inputs, uint32_t outputs) { return xnnpack::packed_size(inputs, outputs); }

size_t pack_linear(const LinearWeights& weights, void* packed) { return xnnpack::pack(weights, packed); }

bool packed_rows_are_readable() { return xnnpack::packed_rows_are_readable(); }

void read_packed_row(const LinearWeights& weights, size_t output, int8_t* q) {
  xnnpack::read_packed_row(weights, output, q);
}

LinearOperator* create_linear_operator(uint32_t inputs, uint32_t outputs, Isa isa, void* memory) {
  auto* made = new (memory) LinearOperator{inputs, outputs, nullptr, nullptr, built_int4_kernels(isa)};
  if (!linear_needs_packing(isa)) return made;
  // XNNPACK's operator follows, in the rest of the block.
  constexpr size_t kUsed = 64;
  static_assert(sizeof(LinearOperator) <= kUsed);
  made->fully_connected = xnnpack::create_fully_connected(inputs, outputs, static_cast<uint8_t*>(memory) + kUsed,
                                                          kLinearOperatorBytes - kUsed);
  const TileKernels* tiles = built_tile_kernels(isa);
  if (tiles != nullptr && inputs >= kMinTileInputs && inputs <= kMaxTileInputs &&
      xnnpack::packs_tiles(tiles->columns, kTileDepth)) {
    made->tiles = tiles;
  }
  return made->fully_connected == nullptr ? nullptr : made;
}

static void run_pass(const TileBatch& batch, size_t columns, const TileArgs& args, ThreadPool* pool) {
  if (batch.prepare != nullptr) batch.prepare(args);
  const size_t tile_count = (args.outputs + columns - 1) / columns;
  const size_t tiles_per_task = pool == nullptr ? tile_count : batch.task_tiles;
  parallel_for(pool, (tile_count + tiles_per_task - 1) / tiles_per_task, [&](size_t task) {
    const size_t first = task * tiles_per_task;
    batch.multiply(args, first, std::min(tiles_per_task, tile_count - first));
  });
}

static void run_tiles(const TileKernels& tiles, const TileArgs& args, ThreadPool* pool) {
  const TileBatch& batch = args.rows <= kSmallBatchRows ? tiles.small : tiles.large;
  TileArgs part = args;
  const size_t most_rows = (args.rows + batch.passes - 1) / batch.passes;
  for (RowBlocks parts(args.rows, most_rows); parts.left() > 0; parts.next()) {
    part.rows = parts.height();
    run_pass(batch, tiles.columns, part, pool);
    part.q += part.rows * args.inputs;
    part.quantization += part.rows;
    part.y += part.rows * args.outputs;
  }
}

static void run_int4(const LinearOperator& op, const LinearWeights& weights, size_t rows, const int8_t* q,
                     const RowQuantization* quantization, float* y, void* scratch, ThreadPool* pool) {
  auto* grouped = static_cast<int8_t*>(scratch);
  const size_t grouped_size = rows * int4_block_count(op.inputs) * kInt4Block;
  auto* starts = reinterpret_cast<int32_t*>(grouped + grouped_size);
  run_int4_linear(op.int4, {weights.tiles, op.inputs, op.outputs, rows, q, quantization, y, grouped, starts}, pool);
}

bool run_linear(LinearOperator* op, const LinearWeights& weights, size_t rows, const int8_t* q,
                RowQuantization* quantization, float* y, void* scratch, ThreadPool* pool) {
  assert(op->inputs == weights.inputs && op->outputs == weights.outputs);
  if (weights.tiles != nullptr) {
    run_int4(*op, weights, rows, q, quantization, y, scratch, pool);
    return true;
  }
  if (op->fully_connected == nullptr) {
    reference::run_linear(weights, rows, q, quantization, y, pool);
    return true;
  }
  if (op->tiles != nullptr) {
    run_tiles(*op->tiles,
              {weights.packed, op->inputs, op->outputs, rows, q, quantization, y, static_cast<int8_t*>(scratch)}, pool);
    return true;
  }
  return xnnpack::run_fully_connected(op->fully_connected, weights.packed, rows, q, quantization, y, pool);
}

static void run_int8_outputs(const LinearWeights& weights, const uint64_t* wanted, const int8_t* q,
                             const RowQuantization& quantization, float* y, int8_t* row) {
  for (size_t first = 0; first < weights.outputs; first += 64) {
    for (uint64_t rest = wanted[first / 64]; rest != 0; rest &= rest - 1) {
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

static void run_int4_outputs(const Int4Kernels* kernels, const Int4Args& args, const uint64_t* wanted) {
  static_assert(64 % kInt4Columns == 0);
  constexpr uint64_t kTile = (uint64_t{1} << kInt4Columns) - 1;
  if (kernels != nullptr) kernels->prepare(args, 0);
  const auto multiply = kernels == nullptr ? reference::multiply_int4 : kernels->multiply;
  for (size_t output = 0; output < args.outputs; output += kInt4Columns) {
    if ((wanted[output / 64] >> (output % 64) & kTile) == 0) continue;
    multiply(args, output / kInt4Columns, 1);
  }
}

void run_linear_outputs(const LinearOperator* op, const LinearWeights& weights, const uint64_t* wanted, const int8_t* q,
                        const RowQuantization& quantization, float* y, void* scratch) {
  auto* bytes = static_cast<int8_t*>(scratch);
  if (weights.tiles == nullptr) {
    run_int8_outputs(weights, wanted, q, quantization, y, bytes);
    return;
  }
  auto* starts = reinterpret_cast<int32_t*>(bytes + int4_block_count(op->inputs) * kInt4Block);
  run_int4_outputs(op->int4, {weights.tiles, op->inputs, op->outputs, 1, q, &quantization, y, bytes, starts}, wanted);
}

size_t linear_scratch_size(const LinearWeights& weights, size_t rows) {
  if (weights.tiles != nullptr) return int4_scratch_size(rows, weights.inputs);
  return weights.inputs < kMinTileInputs ? 0 : tile_scratch_size(rows, weights.inputs);
}

void embed_row(const Kernels& kernels, const LinearWeights& weights, size_t output, const float* position, int8_t* q,
               float* y) {
  if (weights.tiles != nullptr) {
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
