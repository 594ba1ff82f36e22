// Packs int8 weights into the tiles of kernels/linear/int8.h. On ARM, kernels/xnnpack defines these functions of
// kernels/linear/linear.h instead.
#include "kernels/linear/int8.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>

#include "kernels/dispatch/tables.h"
#include "kernels/linear/linear.h"

namespace sotto {

// The number of columns of a tile in this process, or 0 if it has not been chosen yet. This is the only mutable global
// of the library on x86-64.
static constinit std::atomic<uint32_t> tile_columns = 0;

bool select_linear_isa(Isa isa) {
  if (!linear_needs_packing(isa)) return true;
  const InstructionSet* row = find_row(isa);
  if (row == nullptr) return false;
  uint32_t selected = 0;
  return tile_columns.compare_exchange_strong(selected, row->int8->columns) || selected == row->int8->columns;
}

size_t packed_size(uint32_t inputs, uint32_t outputs) {
  const size_t columns = tile_columns.load(std::memory_order_relaxed);
  const size_t size = has_tiles(inputs) ? (outputs + columns - 1) / columns * int8_tile_size(columns, inputs)
                                        : size_t{inputs} * outputs;
  return (size + 63) / 64 * 64;
}

static int32_t sum_of(const int8_t* row, size_t count) {
  int32_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += row[i];
  return sum;
}

// Packs `columns` outputs, starting with `first`. The layer has only `count` of them.
static void pack_tile(const LinearWeights& weights, size_t first, size_t count, size_t columns, uint8_t* tile) {
  const size_t inputs = weights.inputs;
  const int8_t* rows = weights.rows + first * inputs;
  std::memset(tile, 0, int8_tile_size(columns, inputs));
  for (size_t c = 0; c < count; ++c) {
    const int32_t minus_sum = -sum_of(rows + c * inputs, inputs);
    std::memcpy(tile + c * sizeof minus_sum, &minus_sum, sizeof minus_sum);
  }
  uint8_t* to = tile + columns * sizeof(int32_t);
  size_t i = 0;
  for (; i + kTileDepth <= inputs; i += kTileDepth, to += columns * kTileDepth) {
    for (size_t c = 0; c < count; ++c) std::memcpy(to + c * kTileDepth, rows + c * inputs + i, kTileDepth);
  }
  if (i < inputs) {
    for (size_t c = 0; c < count; ++c) std::memcpy(to + c * kTileDepth, rows + c * inputs + i, inputs - i);
    to += columns * kTileDepth;
  }
  std::memcpy(to, weights.scales + first, count * sizeof(float));
  if (weights.bias != nullptr) std::memcpy(to + columns * sizeof(float), weights.bias + first, count * sizeof(float));
}

size_t pack_linear(const LinearWeights& weights, void* packed) {
  const size_t columns = tile_columns.load(std::memory_order_relaxed);
  auto* to = static_cast<uint8_t*>(packed);
  if (has_tiles(weights.inputs)) {
    for (size_t first = 0; first < weights.outputs; first += columns) {
      pack_tile(weights, first, std::min<size_t>(columns, weights.outputs - first), columns, to);
      to += int8_tile_size(columns, weights.inputs);
    }
  } else {
    std::memcpy(to, weights.rows, size_t{weights.inputs} * weights.outputs);
    to += size_t{weights.inputs} * weights.outputs;
  }
  // Padding must not depend on the previous contents of the memory.
  const size_t size = packed_size(weights.inputs, weights.outputs);
  auto* end = static_cast<uint8_t*>(packed) + size;
  std::memset(to, 0, static_cast<size_t>(end - to));
  return size;
}

bool packed_rows_are_readable() { return true; }

void read_packed_row(const LinearWeights& weights, size_t output, int8_t* q) {
  const size_t inputs = weights.inputs;
  const auto* packed = static_cast<const uint8_t*>(weights.packed);
  if (!has_tiles(weights.inputs)) {
    std::memcpy(q, packed + output * inputs, inputs);
    return;
  }
  const size_t columns = tile_columns.load(std::memory_order_relaxed);
  const uint8_t* from = packed + output / columns * int8_tile_size(columns, inputs) + columns * sizeof(int32_t) +
                        output % columns * kTileDepth;
  for (size_t i = 0; i < inputs; i += kTileDepth, from += columns * kTileDepth) {
    std::memcpy(q + i, from, std::min<size_t>(kTileDepth, inputs - i));
  }
}

}  // namespace sotto
