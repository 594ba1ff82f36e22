#include "kernels/reference/int4.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sotto::reference {
namespace {

int32_t dot_block(const uint8_t* nibbles, size_t column, const int8_t* q, size_t first, size_t count) {
  int32_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const NibblePlace place = int4_nibble(first + i, column);
    sum += q[first + i] * ((nibbles[place.byte] >> place.shift & 15) - kInt4Zero);
  }
  return sum;
}

float dot_column(const Int4Args& args, const uint8_t* tile, size_t column, const int8_t* q,
                 RowQuantization quantization) {
  Int4Frame frame;
  std::memcpy(&frame, tile, sizeof frame);
  const uint8_t* scales = tile + sizeof frame + column;
  const uint8_t* nibbles = tile + int4_nibbles_offset(args.inputs);
  uint32_t sum = 0;
  for (size_t block = 0; block < int4_block_count(args.inputs); ++block) {
    const size_t first = block * kInt4Block;
    const size_t count = std::min(kInt4Block, args.inputs - first);
    const auto scale = static_cast<int8_t>(scales[block * kInt4Columns]);
    sum += static_cast<uint32_t>(dot_block(nibbles, column, q, first, count) * scale);
  }
  sum -= static_cast<uint32_t>(quantization.zero_point) * static_cast<uint32_t>(frame.sums[column]);
  const float scaled = static_cast<float>(static_cast<int32_t>(sum)) * quantization.scale;
  return std::fma(scaled, frame.scales[column], frame.biases[column]);
}

}  // namespace

void multiply_int4(const Int4Args& args, size_t first_tile, size_t tile_count) {
  for (size_t t = first_tile; t < first_tile + tile_count; ++t) {
    const uint8_t* tile = args.tiles + t * int4_tile_size(args.inputs);
    const size_t first = t * kInt4Columns;
    const size_t columns = std::min(kInt4Columns, args.outputs - first);
    for (size_t row = 0; row < args.rows; ++row) {
      for (size_t column = 0; column < columns; ++column) {
        args.y[row * args.outputs + first + column] =
            dot_column(args, tile, column, args.q + row * args.inputs, args.quantization[row]);
      }
    }
  }
}

}  // namespace sotto::reference
