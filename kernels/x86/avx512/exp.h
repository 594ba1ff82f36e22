// generic::exp() of several vectors, step by step, so that one's latency hides behind the
// others. Unnamed namespace: see kernels/generic/block.h.
#pragma once

#include "kernels/x86/avx512/vector.h"

namespace sotto::avx512 {
namespace {

// Calls step(i) for all.
template <size_t kCount, class Step>
[[gnu::always_inline]] inline void for_all(Step&& step) {
#pragma GCC unroll 4
  for (size_t i = 0; i < kCount; ++i) step(i);
}

template <size_t kCount>
[[gnu::always_inline]] inline void exp_each(Vector (&x)[kCount]) {
  const Vector magic = Vector::broadcast(kRoundToInteger);
  Vector t[kCount], r[kCount], p[kCount];
  __mmask16 kept[kCount];
  const auto each = [](auto&& step) { for_all<kCount>(step); };
  each([&](size_t i) { t[i] = fma(x[i], Vector::broadcast(kLog2E), magic); });
  each([&](size_t i) { kept[i] = _mm512_cmp_ps_mask(x[i].v, _mm512_set1_ps(kExpMin), _CMP_GE_OQ); });
  each([&](size_t i) { r[i] = magic - t[i]; });
  each([&](size_t i) { x[i] = fma(r[i], Vector::broadcast(kLn2High), x[i]); });
  each([&](size_t i) { r[i] = fma(r[i], Vector::broadcast(kLn2Low), x[i]); });
  each([&](size_t i) { p[i] = fma(Vector::broadcast(kExp[6]), r[i], Vector::broadcast(kExp[5])); });
#pragma GCC unroll 5
  for (int k = 4; k >= 0; --k) {
    each([&](size_t i) { p[i] = fma(p[i], r[i], Vector::broadcast(kExp[k])); });
  }
  each([&](size_t i) {
    const __m512i n = _mm512_slli_epi32(_mm512_castps_si512(t[i].v), 23);
    const __m512i bits = _mm512_maskz_add_epi32(kept[i], _mm512_castps_si512(p[i].v), n);
    x[i].v = _mm512_castsi512_ps(bits);
  });
}

}  // namespace
}  // namespace sotto::avx512
