// Layer normalization (Ba et al. 2016).
#include <cmath>

#include "kernels/reference/lanes.h"
#include "kernels/reference/reference.h"

namespace sotto::reference {

void layer_norm(const float* x, const float* gain, const float* bias, float epsilon, size_t n, float* y) {
  const float count = static_cast<float>(n);
  Lanes sum;
  for (size_t i = 0; i < n; ++i) sum[i] = sum[i] + x[i];
  const float mean = sum.fold() / count;

  Lanes squares;
  for (size_t i = 0; i < n; ++i) {
    const float d = x[i] - mean;
    squares[i] = std::fma(d, d, squares[i]);
  }
  const float variance = squares.fold() / count;
  const float r = 1.0f / std::sqrt(variance + epsilon);

  for (size_t i = 0; i < n; ++i) y[i] = std::fma((x[i] - mean) * r, gain[i], bias[i]);
}

}  // namespace sotto::reference
