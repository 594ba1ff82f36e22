// The residual sum and a token's embedding.
#pragma once

#include "kernels/generic/block.h"

namespace sotto::generic {

template <class V>
inline void add(const float* x, size_t n, float* y) {
  for_each_block<V>(
      n, [&](size_t i, auto extent) { (V::load(y + i, extent) + V::load(x + i, extent)).store(y + i, extent); });
}

template <class V>
inline void embed(const int8_t* q, float scale, const float* position, size_t n, float* y) {
  const V scales = V::broadcast(scale);
  for_each_block<V>(n, [&](size_t i, auto extent) {
    fma(V::load(q + i, extent), scales, V::load(position + i, extent)).store(y + i, extent);
  });
}

}  // namespace sotto::generic
