// Float rows to int8: asymmetric for activations, symmetric for the heads of the KV ring.
#include <cmath>

#include "kernels/reference/math.h"
#include "kernels/reference/reference.h"
#include "kernels/reference/row_mapping.h"

namespace sotto {

RowMapping map_row(float lo, float hi) {
  const float range = hi - lo;
  const float scale = range == 0.0f ? 1.0f : range / 255.0f;
  const float inverse = range == 0.0f ? 1.0f : 255.0f / range;
  const int32_t zero_point = reference::round_to_int(reference::clamp(-128.0f - lo * inverse, -128.0f, 127.0f));
  return {.quantization = {zero_point, scale},
          .inverse = inverse,
          .low = static_cast<float>(-128 - zero_point),
          .high = static_cast<float>(127 - zero_point)};
}

}  // namespace sotto

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
