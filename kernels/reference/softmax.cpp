// The parts of a softmax over logits, and the greedy choice.
#include <limits>

#include "kernels/reference/lanes.h"
#include "kernels/reference/math.h"
#include "kernels/reference/reference.h"

namespace sotto::reference {

float max(const float* x, size_t n) {
  float m = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < n; ++i) m = x[i] > m ? x[i] : m;
  return m + 0.0f;
}

size_t argmax(const float* x, size_t n) {
  const float m = max(x, n);
  for (size_t i = 0; i < n; ++i) {
    if (x[i] == m) return i;
  }
  return 0;
}

float exp_shifted(const float* x, size_t n, float max, float* y) {
  Lanes sum;
  for (size_t i = 0; i < n; ++i) {
    const float e = exp(x[i] - max);
    sum[i] = sum[i] + e;
    if (y != nullptr) y[i] = e;
  }
  return sum.fold();
}

}  // namespace sotto::reference
