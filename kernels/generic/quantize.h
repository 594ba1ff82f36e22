// Float rows to int8: asymmetric for activations, symmetric for the heads of the KV ring.
#pragma once

#include "kernels/generic/block.h"
#include "kernels/generic/math.h"
#include "kernels/reference/row_mapping.h"

namespace sotto::generic {

template <class V>
inline void quantize_row(const float* x, size_t n, int8_t* q, RowQuantization* quantization) {
  // Two chains each, to hide latency: order does not matter but for the sign of zero, which
  // the mapping does not see.
  V lo[2] = {V::zero(), V::zero()};
  V hi[2] = {V::zero(), V::zero()};
  size_t begin = 0;
  for (; begin + 2 * kLanes <= n; begin += 2 * kLanes) {
    const V a = V::load(x + begin, Whole{});
    const V b = V::load(x + begin + kLanes, Whole{});
    lo[0] = min(a, lo[0]);
    hi[0] = max(a, hi[0]);
    lo[1] = min(b, lo[1]);
    hi[1] = max(b, hi[1]);
  }
  for_each_block<V>(n - begin, [&](size_t i, auto extent) {
    const V v = V::load(x + begin + i, extent);
    lo[0] = min(v, lo[0]);
    hi[0] = max(v, hi[0]);
  });
  const RowMapping mapping = map_row(-fold_max(V::zero() - min(lo[0], lo[1])), fold_max(max(hi[0], hi[1])));
  const V inverse = V::broadcast(mapping.inverse);
  const V low = V::broadcast(mapping.low);
  const V high = V::broadcast(mapping.high);
  const int32_t zero_point = mapping.quantization.zero_point;
  begin = 0;
  if constexpr (requires { V::store_64_rounded(x, inverse, high, zero_point, q); }) {
    for (; begin + 64 <= n; begin += 64) {
      V::store_64_rounded(x + begin, inverse, high, zero_point, q + begin);
    }
  }
  for_each_block<V>(n - begin, [&](size_t i, auto extent) {
    clamp(V::load(x + begin + i, extent) * inverse, low, high).store_rounded(q + begin + i, zero_point, extent);
  });
  *quantization = mapping.quantization;
}

template <class V>
inline float quantize_symmetric(const float* x, size_t n, int8_t* q) {
  V magnitude = V::zero();
  for_each_block<V>(n, [&](size_t i, auto extent) { magnitude = max(abs(V::load(x + i, extent)), magnitude); });
  const float m = fold_max(magnitude);
  const V inverse = V::broadcast(m == 0.0f ? 0.0f : 127.0f / m);
  const V low = V::broadcast(-127.0f);
  const V high = V::broadcast(127.0f);
  size_t begin = 0;
  if constexpr (requires { V::store_64_symmetric(x, inverse, q); }) {
    for (; begin + 64 <= n; begin += 64) V::store_64_symmetric(x + begin, inverse, q + begin);
  }
  for_each_block<V>(n - begin, [&](size_t i, auto extent) {
    clamp(V::load(x + begin + i, extent) * inverse, low, high).store_rounded(q + begin + i, 0, extent);
  });
  return m / 127.0f;
}

}  // namespace sotto::generic
