// Layer normalization (Ba et al. 2016).
#pragma once

#include "kernels/generic/block.h"

namespace sotto::generic {

template <class V>
inline void layer_norm(const float* x, const float* gain, const float* bias, float epsilon, size_t n, float* y) {
  const float count = static_cast<float>(n);
  V sum = V::zero();
  for_each_block<V>(n, [&](size_t i, auto extent) { sum = sum + V::load(x + i, extent); });
  const V mean = V::broadcast(fold_add(sum) / count);

  V squares = V::zero();
  for_each_block<V>(n, [&](size_t i, auto extent) {
    const V d = merge(V::load(x + i, extent) - mean, extent, V::zero());
    squares = fma(d, d, squares);
  });
  const float variance = fold_add(squares) / count;
  const V r = V::broadcast(1.0f) / sqrt(V::broadcast(variance + epsilon));

  for_each_block<V>(n, [&](size_t i, auto extent) {
    const V d = V::load(x + i, extent) - mean;
    fma(d * r, V::load(gain + i, extent), V::load(bias + i, extent)).store(y + i, extent);
  });
}

}  // namespace sotto::generic
