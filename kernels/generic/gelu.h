// Gaussian error linear units (Hendrycks and Gimpel 2016), as in kernels/math.h.
#pragma once

#include "kernels/generic/block.h"
#include "kernels/generic/math.h"

namespace sotto::generic {

template <class V>
inline V gelu_exponent(V v) {
  return v * fma(v * v, V::broadcast(kGeluCubic), V::broadcast(kGeluLinear));
}

template <class V>
inline void gelu_tanh(float* x, size_t n) {
  const V one = V::broadcast(1.0f);
  size_t begin = 0;
  // Several at once where there is an exp() of them.
  if constexpr (requires(V(&four)[4]) { exp_each(four); }) {
    const V most = V::broadcast(kExpMax), infinity = V::broadcast(__builtin_inff());
    for (; begin + 4 * kLanes <= n; begin += 4 * kLanes) {
      V e[4];
#pragma GCC unroll 4
      for (size_t i = 0; i < 4; ++i) {
        e[i] = gelu_exponent(V::load(x + begin + i * kLanes, Whole{}));
      }
      exp_each(e);
#pragma GCC unroll 4
      for (size_t i = 0; i < 4; ++i) {
        const V v = V::load(x + begin + i * kLanes, Whole{});
        const V finite = select_ge(most, gelu_exponent(v), e[i], infinity);
        (v / (one + finite)).store(x + begin + i * kLanes, Whole{});
      }
    }
  }
  for_each_block<V>(n - begin, [&](size_t i, auto extent) {
    const V v = V::load(x + begin + i, extent);
    (v / (one + exp_or_infinity(gelu_exponent(v)))).store(x + begin + i, extent);
  });
}

template <class V>
inline void gelu_erf(float* x, size_t n) {
  for_each_block<V>(n, [&](size_t i, auto extent) {
    const V v = V::load(x + i, extent);
    const V a = abs(v);
    const V one = V::broadcast(1.0f);
    const V t = one / fma(a, V::broadcast(kErfcSlope), one);
    V p = V::broadcast(kErfc[8]);
    p = fma(p, t, V::broadcast(kErfc[7]));
    p = fma(p, t, V::broadcast(kErfc[6]));
    p = fma(p, t, V::broadcast(kErfc[5]));
    p = fma(p, t, V::broadcast(kErfc[4]));
    p = fma(p, t, V::broadcast(kErfc[3]));
    p = fma(p, t, V::broadcast(kErfc[2]));
    p = fma(p, t, V::broadcast(kErfc[1]));
    p = fma(p, t, V::broadcast(kErfc[0]));
    const V e = (p * t) * exp((v * v) * V::broadcast(-0.5f));
    (max(v, V::zero()) - (a * V::broadcast(0.5f)) * e).store(x + i, extent);
  });
}

}  // namespace sotto::generic
