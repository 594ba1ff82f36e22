#include "kernels/linear/int4_linear.h"

#include <algorithm>
#include <cstring>

#include "kernels/reference/int4.h"

namespace sotto {

bool int4_available() { return true; }

void run_int4_linear(const Int4Kernels* kernels, const Int4Args& args, ThreadPool* pool) {
  constexpr size_t kTilesPerTask = 4;
  const auto multiply = kernels == nullptr ? reference::multiply_int4 : kernels->multiply;
  if (kernels != nullptr) {
    parallel_for(pool, row_group_count(args.rows, kernels->group_rows),
                 [&](size_t group) { kernels->prepare(args, group); });
  }
  const size_t tile_count = int4_tile_count(args.outputs);
  parallel_for(pool, (tile_count + kTilesPerTask - 1) / kTilesPerTask, [&](size_t task) {
    const size_t first = task * kTilesPerTask;
    multiply(args, first, std::min(kTilesPerTask, tile_count - first));
  });
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
      const NibblePlace place = int4_nibble(first + i, column);
      weights[i] = static_cast<int8_t>((nibbles[place.byte] >> place.shift & 15) - kInt4Zero);
    }
    const auto block = static_cast<float>(static_cast<int8_t>(*block_scale));
    kernels.embed(weights, block * scale, position + first, count, y + first);
  }
}

}  // namespace sotto
