// The functions of kernels/math.h for 16 numbers.
#pragma once

#include "kernels/math.h"

namespace sotto::generic {

template <class V>
inline V exp(V x) {
  const V magic = V::broadcast(kRoundToInteger);
  const V t = fma(x, V::broadcast(kLog2E), magic);
  const V minus_n = magic - t;
  V r = fma(minus_n, V::broadcast(kLn2High), x);
  r = fma(minus_n, V::broadcast(kLn2Low), r);
  V p = V::broadcast(kExp[6]);
  p = fma(p, r, V::broadcast(kExp[5]));
  p = fma(p, r, V::broadcast(kExp[4]));
  p = fma(p, r, V::broadcast(kExp[3]));
  p = fma(p, r, V::broadcast(kExp[2]));
  p = fma(p, r, V::broadcast(kExp[1]));
  p = fma(p, r, V::broadcast(kExp[0]));
  return select_ge(x, V::broadcast(kExpMin), scale(p, t), V::zero());
}

template <class V>
inline V exp_or_infinity(V x) {
  return select_ge(V::broadcast(kExpMax), x, exp(x), V::broadcast(__builtin_inff()));
}

template <class V>
inline V clamp(V x, V low, V high) {
  return min(max(x, low), high);
}

}  // namespace sotto::generic
