#include "kernels/reference/linear.h"

#include <cmath>
#include <limits>

namespace sotto::reference {
namespace {

// XNNPACK computes with denormals flushed to zero.
float flush(float x) { return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x; }

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
  const size_t tasks = (weights.outputs + kOutputsPerTask - 1) / kOutputsPerTask;
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

}  // namespace sotto::reference
