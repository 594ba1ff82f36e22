// The residual sum and a token's embedding.
#include <cmath>

#include "kernels/reference/reference.h"

namespace sotto::reference {

void add(const float* x, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = y[i] + x[i];
}

void embed(const int8_t* q, float scale, const float* position, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = std::fma(static_cast<float>(q[i]), scale, position[i]);
}

}  // namespace sotto::reference
