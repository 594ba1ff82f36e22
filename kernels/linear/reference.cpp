// Linear layers with 8-bit and 4-bit weights in scalar code.
#include "kernels/linear/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace sotto::reference {
namespace {

// Flushes denormals to zero, as XNNPACK computes.
float flush(float x) { return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x; }

int32_t dot_block(const uint8_t* nibbles, size_t column, const int8_t* q, size_t first, size_t count) {
  int32_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const NibblePosition at = int4_nibble(first + i, column);
    sum += q[first + i] * ((nibbles[at.byte] >> at.shift & 15) - kInt4Zero);
  }
  return sum;
}

float dot_column(const LinearArgs& args, const uint8_t* tile, size_t column, const int8_t* q,
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

void multiply_int4(const LinearArgs& args, size_t first_tile, size_t tile_count) {
  for (size_t t = first_tile; t < first_tile + tile_count; ++t) {
    const uint8_t* tile = args.weights + t * int4_tile_size(args.inputs);
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

}  // namespace

float run_linear_output(const LinearWeights& weights, size_t output, const int8_t* row, const int8_t* q,
                        RowQuantization quantization) {
  int32_t sum = 0;
  for (size_t i = 0; i < weights.inputs; ++i) {
    const auto shifted = static_cast<int16_t>(q[i] - quantization.zero_point);
    sum += shifted * int16_t{row[i]};
  }
  const float scaled = flush(static_cast<float>(sum) * flush(quantization.scale));
  const float bias = weights.bias == nullptr ? 0.0f : flush(weights.bias[output]);
  return flush(std::fma(scaled, flush(weights.scales[output]), bias));
}

void run_linear(const LinearWeights& weights, size_t rows, const int8_t* q, const RowQuantization* quantization,
                float* y, ThreadPool* pool) {
  constexpr size_t kOutputsPerTask = 64;
  const size_t tasks = divide_up(weights.outputs, kOutputsPerTask);
  parallel_for(pool, tasks, [&](size_t task) {
    const size_t first = task * kOutputsPerTask;
    const size_t last = first + kOutputsPerTask < weights.outputs ? first + kOutputsPerTask : weights.outputs;
    for (size_t r = 0; r < rows; ++r) {
      for (size_t o = first; o < last; ++o) {
        y[r * weights.outputs + o] =
            run_linear_output(weights, o, weights.rows + o * weights.inputs, q + r * weights.inputs, quantization[r]);
      }
    }
  });
}

constexpr MatrixKernel kInt4Kernel = {.prepare = nullptr, .multiply = multiply_int4, .task_tiles = 4};
constinit const MatrixKernels kInt4 = {nullptr, kInt4Kernel, kInt4Kernel};

}  // namespace sotto::reference
