// The operations of a transformer layer other than attention and linear layers: layer normalization, activation
// functions, quantization of rows, residual sums, and the embedding of a token.
#pragma once

#include "kernels/generic/vector.h"
#include "kernels/reference/row_mapping.h"

namespace sotto::SOTTO_ISA::generic {

// Layer normalization (Ba et al. 2016).
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

// Returns the exponent u of gelu_tanh (kernels/math.h).
template <class V>
inline V gelu_exponent(V v) {
  return v * fma(v * v, V::broadcast(kGeluCubic), V::broadcast(kGeluLinear));
}

template <class V>
inline void gelu_tanh(float* x, size_t n) {
  const V one = V::broadcast(1.0f);
  size_t begin = 0;
  // If the instruction set has exp_each(), four vectors are computed at the same time.
  if constexpr (requires(V(&four)[4]) { exp_each(four); }) {
    const V max = V::broadcast(kExpMax), infinity = V::broadcast(__builtin_inff());
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
        const V finite = select_ge(max, gelu_exponent(v), e[i], infinity);
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

// Calls y = function(x) for each block of x and stores y.
template <class V, class Function>
inline void replace_each(float* x, size_t n, Function&& function) {
  for_each_block<V>(n, [&](size_t i, auto extent) { function(V::load(x + i, extent)).store(x + i, extent); });
}

template <class V>
inline void relu(float* x, size_t n) {
  replace_each<V>(x, n, [](V v) { return max(V::zero(), v); });
}

template <class V>
inline void squared_relu(float* x, size_t n) {
  replace_each<V>(x, n, [](V v) { return max(V::zero(), v) * max(V::zero(), v); });
}

template <class V>
inline void silu(float* x, size_t n) {
  replace_each<V>(x, n, [](V v) { return v / (V::broadcast(1.0f) + exp_or_infinity(v * V::broadcast(-1.0f))); });
}

template <class V>
inline void quick_gelu(float* x, size_t n) {
  replace_each<V>(x, n,
                  [](V v) { return v / (V::broadcast(1.0f) + exp_or_infinity(v * V::broadcast(kQuickGeluFactor))); });
}

template <class V>
inline void tanh(float* x, size_t n) {
  replace_each<V>(x, n, [](V v) {
    const V one = V::broadcast(1.0f), a = abs(v);
    const V t = one - V::broadcast(2.0f) / (one + exp_or_infinity(a + a));
    const V s = v * v;
    V p = V::broadcast(kTanhRatio[4]);
    p = fma(p, s, V::broadcast(kTanhRatio[3]));
    p = fma(p, s, V::broadcast(kTanhRatio[2]));
    p = fma(p, s, V::broadcast(kTanhRatio[1]));
    p = fma(p, s, V::broadcast(kTanhRatio[0]));
    const V large = select_ge(v, V::zero(), t, V::zero() - t);
    return select_ge(a, V::broadcast(kTanhLimit), large, v * fma(p, s, one));
  });
}

template <class V>
inline void quantize_row(const float* x, size_t n, int8_t* q, RowQuantization* quantization) {
  // Two chains per bound hide latency. The order of the chains affects only the sign of zero, which does not affect the
  // mapping.
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

}  // namespace sotto::SOTTO_ISA::generic
