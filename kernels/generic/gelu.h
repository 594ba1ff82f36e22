// Gaussian error linear units (Hendrycks and Gimpel 2016), as in kernels/math.h.
#pragma once

#include "kernels/generic/block.h"
#include "kernels/generic/math.h"

namespace sotto::generic {

template <class V>
inline void gelu_tanh(float* x, size_t n) {
  for_each_block<V>(n, [&](size_t i, auto extent) {
    const V v = V::load(x + i, extent);
    const V u = v * fma(v * v, V::broadcast(kGeluCubic), V::broadcast(kGeluLinear));
    (v / (V::broadcast(1.0f) + exp_or_infinity(u))).store(x + i, extent);
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
