// Packs int8 weights into the tiles of kernels/linear/int8.h.
#include "kernels/linear/int8.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "kernels/linear/int4.h"
#include "kernels/linear/linear.h"

namespace sotto {
namespace {

// Calls copy(input, offset, count) for every depth of a column. The depth has the weights of inputs input ... input +
// count - 1, at `offset` from the start of the tile. `count` is a constant, except at the end of the inputs.
template <size_t kDepth, size_t kRotations, typename F>
void for_each_depth(size_t columns, size_t column, size_t inputs, F copy) {
  constexpr size_t kGroup = kDepth * kRotations;
  size_t offset = columns * sizeof(int32_t) + column * kDepth;
  size_t group = 0;
  for (; group + kGroup <= inputs; group += kGroup) {
    for (size_t i = 0; i < kRotations; ++i, offset += columns * kDepth) {
      copy(group + (column + i) % kRotations * kDepth, offset, kDepth);
    }
  }
  for (size_t i = 0; i < kRotations; ++i, offset += columns * kDepth) {
    const size_t input = group + (column + i) % kRotations * kDepth;
    if (input < inputs) copy(input, offset, std::min(kDepth, inputs - input));
  }
}

template <typename F>
void for_each_depth(const TileLayout& layout, size_t column, size_t inputs, F copy) {
  assert(layout.rotations == (layout.depth == 2 ? 4 : 1));
  if (layout.depth == 2) return for_each_depth<2, 4>(layout.columns, column, inputs, copy);
  if (layout.depth == 4) return for_each_depth<4, 1>(layout.columns, column, inputs, copy);
  assert(layout.depth == 8);
  for_each_depth<8, 1>(layout.columns, column, inputs, copy);
}

int32_t sum_of(const int8_t* row, size_t count) {
  int32_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += row[i];
  return sum;
}

// Packs the tile that begins with output `first`. The layer has only `count` of its outputs.
void pack_tile(const TileLayout& layout, const LinearWeights& weights, size_t first, size_t count, uint8_t* tile) {
  const size_t size = layout.tile_size(weights.inputs);
  std::memset(tile, 0, size);
  for (size_t c = 0; c < count; ++c) {
    const int8_t* row = weights.rows + (first + c) * weights.inputs;
    const int32_t minus_sum = -sum_of(row, weights.inputs);
    std::memcpy(tile + c * sizeof minus_sum, &minus_sum, sizeof minus_sum);
    for_each_depth(layout, c, weights.inputs, [row, tile](size_t input, size_t offset, size_t bytes) {
      std::memcpy(tile + offset, row + input, bytes);
    });
  }
  uint8_t* biases = tile + size - layout.columns * sizeof(float);
  uint8_t* scales = biases - layout.columns * sizeof(float);
  std::memcpy(scales, weights.scales + first, count * sizeof(float));
  if (weights.bias != nullptr) std::memcpy(biases, weights.bias + first, count * sizeof(float));
}

}  // namespace

size_t packed_size(const TileLayout& layout, uint32_t inputs, uint32_t outputs) {
  const size_t size = layout.has_tiles(inputs) ? divide_up(outputs, layout.columns) * layout.tile_size(inputs)
                                               : size_t{inputs} * outputs;
  return align_up(size, 64);
}

size_t pack_linear(const TileLayout& layout, const LinearWeights& weights, void* packed) {
  auto* to = static_cast<uint8_t*>(packed);
  if (layout.has_tiles(weights.inputs)) {
    for (size_t first = 0; first < weights.outputs; first += layout.columns) {
      pack_tile(layout, weights, first, std::min<size_t>(layout.columns, weights.outputs - first), to);
      to += layout.tile_size(weights.inputs);
    }
  } else {
    std::memcpy(to, weights.rows, size_t{weights.inputs} * weights.outputs);
    to += size_t{weights.inputs} * weights.outputs;
  }
  // Padding must not depend on the previous contents of the memory.
  const size_t size = packed_size(layout, weights.inputs, weights.outputs);
  auto* end = static_cast<uint8_t*>(packed) + size;
  std::memset(to, 0, static_cast<size_t>(end - to));
  return size;
}

LinearWeights select_outputs(const LinearWeights& weights, uint32_t first_output, uint32_t count) {
  assert(first_output % kOutputAlignment == 0 && count <= weights.outputs - first_output);
  const size_t row_offset = size_t{first_output} * weights.inputs;
  LinearWeights part = weights;
  part.outputs = count;
  if (part.rows != nullptr) part.rows += row_offset;
  if (part.scales != nullptr) part.scales += first_output;
  if (part.bias != nullptr) part.bias += first_output;
  if (part.tiles != nullptr) part.tiles += first_output / kInt4Columns * int4_tile_size(weights.inputs);
  if (part.packed != nullptr) {
    const TileLayout& layout = *weights.layout;
    const size_t tile_offset = first_output / layout.columns * layout.tile_size(weights.inputs);
    const size_t offset = layout.has_tiles(weights.inputs) ? tile_offset : row_offset;
    part.packed = static_cast<const uint8_t*>(part.packed) + offset;
  }
  return part;
}

void read_packed_row(const LinearWeights& weights, size_t output, int8_t* q) {
  const TileLayout& layout = *weights.layout;
  const auto* packed = static_cast<const uint8_t*>(weights.packed);
  if (!layout.has_tiles(weights.inputs)) {
    std::memcpy(q, packed + output * weights.inputs, weights.inputs);
    return;
  }
  const uint8_t* tile = packed + output / layout.columns * layout.tile_size(weights.inputs);
  for_each_depth(layout, output % layout.columns, weights.inputs, [q, tile](size_t input, size_t offset, size_t bytes) {
    std::memcpy(q + input, tile + offset, bytes);
  });
}

}  // namespace sotto
