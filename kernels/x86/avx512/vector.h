// The 16 lanes of a vector in one AVX-512 register. kernels/generic/vector.h explains the unnamed namespace.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/generic/vector.h"

namespace sotto::SOTTO_ISA {
namespace {

using generic::Part;
using generic::Whole;

inline __mmask16 mask_of(Part part) { return static_cast<__mmask16>((1u << part.count) - 1); }

struct Vector {
  __m512 v;

  static Vector zero() { return {_mm512_setzero_ps()}; }
  static Vector broadcast(float x) { return {_mm512_set1_ps(x)}; }

  static Vector load(const float* p, Whole) { return {_mm512_loadu_ps(p)}; }
  static Vector load(const float* p, Part part) { return {_mm512_maskz_loadu_ps(mask_of(part), p)}; }
  static Vector load(const int8_t* p, Whole) {
    return from_bytes(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static Vector load(const int8_t* p, Part part) { return from_bytes(_mm_maskz_loadu_epi8(mask_of(part), p)); }
  static Vector from_bytes(__m128i bytes) { return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes))}; }

  // Stores the lanes of x and ids whose bits are set in `mask` contiguously, and returns their number. If ids is null,
  // the ids are first_id, first_id + 1, ... The rest of the 16 elements may be overwritten.
  static size_t compress(uint32_t mask, const float* x, const int32_t* ids, int32_t first_id, float* kept_x,
                         int32_t* kept_ids) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i id = ids != nullptr ? _mm512_loadu_si512(ids) : _mm512_add_epi32(lane, _mm512_set1_epi32(first_id));
    const auto kept = static_cast<__mmask16>(mask);
    const __m512 value = _mm512_loadu_ps(x);
    _mm512_storeu_ps(kept_x, _mm512_maskz_compress_ps(kept, value));
    _mm512_storeu_si512(kept_ids, _mm512_maskz_compress_epi32(kept, id));
    return static_cast<size_t>(__builtin_popcount(mask));
  }

  // Stores the ids first_id + i of the set bits i of `mask` contiguously, and returns their number.
  static size_t compress_ids(uint32_t mask, int32_t first_id, int32_t* kept_ids) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i id = _mm512_add_epi32(lane, _mm512_set1_epi32(first_id));
    _mm512_storeu_si512(kept_ids, _mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), id));
    return static_cast<size_t>(__builtin_popcount(mask));
  }

  // Sums the bits of each lane as integers, modulo 2^32.
  struct BitSums {
    __m512i v;
    BitSums() : v(_mm512_setzero_si512()) {}
    void add(Vector x) { v = _mm512_add_epi32(v, _mm512_castps_si512(x.v)); }
    void store(uint32_t* p) const { _mm512_storeu_si512(p, v); }
  };

  void store(float* p, Whole) const { _mm512_storeu_ps(p, v); }
  void store(float* p, Part part) const { _mm512_mask_storeu_ps(p, mask_of(part), v); }

  // Returns the lanes, rounded to integers, plus `offset`, as int8.
  __m128i rounded(int32_t offset) const {
    return _mm512_cvtepi32_epi8(_mm512_add_epi32(_mm512_cvtps_epi32(v), _mm512_set1_epi32(offset)));
  }
  void store_rounded(int8_t* p, int32_t offset, Whole) const {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), rounded(offset));
  }
  void store_rounded(int8_t* p, int32_t offset, Part part) const {
    _mm_mask_storeu_epi8(p, mask_of(part), rounded(offset));
  }

  // Returns 64 values of x * factor, limited to `high`, rounded, plus `offset`. Everything else that int8 cannot
  // represent, including NaN, becomes -128.
  static __m512i rounded_64(const float* x, Vector factor, Vector high, int32_t offset) {
    __m512i integers[4];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) {
      const __m512 product = _mm512_mul_ps(_mm512_loadu_ps(x + 16 * i), factor.v);
      // If either operand is NaN, min returns the second one.
      integers[i] = _mm512_cvtps_epi32(_mm512_min_ps(high.v, product));
    }
    const __m512i offsets = _mm512_set1_epi16(static_cast<int16_t>(offset));
    const __m512i low = _mm512_packs_epi32(integers[0], integers[1]);
    const __m512i high_half = _mm512_packs_epi32(integers[2], integers[3]);
    const __m512i bytes = _mm512_packs_epi16(_mm512_adds_epi16(low, offsets), _mm512_adds_epi16(high_half, offsets));
    // Packing puts four lanes of each source next to each other.
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, bytes);
  }
  static void store_64_rounded(const float* x, Vector factor, Vector high, int32_t offset, int8_t* q) {
    _mm512_storeu_si512(q, rounded_64(x, factor, high, offset));
  }
  // Stores 64 values of x * factor, limited to -127 ... 127, without an offset.
  static void store_64_symmetric(const float* x, Vector factor, int8_t* q) {
    const __m512i bytes = rounded_64(x, factor, broadcast(127.0f), 0);
    _mm512_storeu_si512(q, _mm512_max_epi8(bytes, _mm512_set1_epi8(-127)));
  }
};

inline Vector operator+(Vector a, Vector b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Vector operator-(Vector a, Vector b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Vector operator*(Vector a, Vector b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Vector operator/(Vector a, Vector b) { return {_mm512_div_ps(a.v, b.v)}; }
inline Vector fma(Vector a, Vector b, Vector c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline Vector sqrt(Vector a) { return {_mm512_sqrt_ps(a.v)}; }
inline Vector abs(Vector a) { return {_mm512_abs_ps(a.v)}; }

// Return a > b ? a : b and a < b ? a : b. If either is NaN, the result is b.
inline Vector max(Vector a, Vector b) { return {_mm512_max_ps(a.v, b.v)}; }
inline Vector min(Vector a, Vector b) { return {_mm512_min_ps(a.v, b.v)}; }

// Returns a >= b ? yes : no.
inline Vector select_ge(Vector a, Vector b, Vector yes, Vector no) {
  return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_GE_OQ), no.v, yes.v)};
}

// Returns v within the extent of the block and `other` beyond it.
inline Vector merge(Vector v, Whole, Vector) { return v; }
inline Vector merge(Vector v, Part part, Vector other) { return {_mm512_mask_blend_ps(mask_of(part), other.v, v.v)}; }

inline uint32_t equal_mask(Vector a, Vector b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ); }

inline uint32_t greater_equal_mask(Vector a, Vector b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_GE_OQ); }

// Returns p 2^n for t = n + kRoundToInteger. Both p and the result are normal.
inline Vector scale(Vector p, Vector t) {
  const __m512i n = _mm512_slli_epi32(_mm512_castps_si512(t.v), 23);
  return {_mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(p.v), n))};
}

// Adds up the lanes as a tree: lanes 8 apart, then 4, 2 and 1 apart.
inline float fold_add(Vector a) {
  const __m256 v8 = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 v4 = _mm_add_ps(_mm256_castps256_ps128(v8), _mm256_extractf128_ps(v8, 1));
  const __m128 v2 = _mm_add_ps(v4, _mm_movehl_ps(v4, v4));
  return _mm_cvtss_f32(_mm_add_ss(v2, _mm_movehdup_ps(v2)));
}

// Returns the largest lane. No lane may be NaN.
inline float fold_max(Vector a) {
  const __m256 v8 = _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 v4 = _mm_max_ps(_mm256_castps256_ps128(v8), _mm256_extractf128_ps(v8, 1));
  const __m128 v2 = _mm_max_ps(v4, _mm_movehl_ps(v4, v4));
  return _mm_cvtss_f32(_mm_max_ss(v2, _mm_movehdup_ps(v2)));
}

// Calls step(i) for each i below kCount.
template <size_t kCount, class Step>
[[gnu::always_inline]] inline void for_all(Step&& step) {
#pragma GCC unroll 4
  for (size_t i = 0; i < kCount; ++i) step(i);
}

// Computes generic::exp() of several vectors, one step at a time for all of them, so that their latencies overlap.
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
}  // namespace sotto::SOTTO_ISA
