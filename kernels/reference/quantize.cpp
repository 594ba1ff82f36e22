// Float rows to int8: asymmetric for activations, symmetric for the heads of the KV ring.
#include <cmath>

#include "kernels/linear/row_mapping.h"
#include "kernels/reference/math.h"
#include "kernels/reference/reference.h"

namespace sotto::reference {

void quantize_row(const float* x, size_t n, int8_t* q, RowQuantization* quantization) {
  float lo = 0.0f;
  float hi = 0.0f;
  for (size_t i = 0; i < n; ++i) {
    if (x[i] < lo) lo = x[i];
    if (x[i] > hi) hi = x[i];
  }
  const RowMapping mapping = map_row(lo, hi);
  *quantization = mapping.quantization;
  for (size_t i = 0; i < n; ++i) {
    const float scaled = clamp(x[i] * mapping.inverse, mapping.low, mapping.high);
    q[i] = static_cast<int8_t>(round_to_int(scaled) + mapping.quantization.zero_point);
  }
}

float quantize_symmetric(const float* x, size_t n, int8_t* q) {
  float m = 0.0f;
  for (size_t i = 0; i < n; ++i) {
    const float magnitude = std::fabs(x[i]);
    if (magnitude > m) m = magnitude;
  }
  const float inverse = m == 0.0f ? 0.0f : 127.0f / m;
  for (size_t i = 0; i < n; ++i) {
    q[i] = static_cast<int8_t>(round_to_int(clamp(x[i] * inverse, -127.0f, 127.0f)));
  }
  return m / 127.0f;
}

}  // namespace sotto::reference
