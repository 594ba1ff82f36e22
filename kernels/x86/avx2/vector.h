// The 16 lanes of a vector in two AVX2 registers. kernels/generic/vector.h explains the unnamed namespace.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/generic/compressions.h"
#include "kernels/generic/vector.h"

namespace sotto::SOTTO_ISA {
namespace {

using generic::Part;
using generic::Whole;

inline constexpr Compressions<8, 1> kCompressions;

// Returns a mask for lanes [first, first + 8): all bits of the lanes in `part` are set.
inline __m256i mask_of(Part part, int first) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(part.count) - first), lane);
}

struct Vector {
  __m256 low;   // lanes 0 ... 7
  __m256 high;  // lanes 8 ... 15

  static Vector zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static Vector broadcast(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }

  static Vector load(const float* p, Whole) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static Vector load(const float* p, Part part) {
    return {_mm256_maskload_ps(p, mask_of(part, 0)), _mm256_maskload_ps(p + 8, mask_of(part, 8))};
  }
  static Vector load(const int8_t* p, Whole) {
    return from_bytes(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static Vector load(const int8_t* p, Part part) {
    alignas(16) int8_t bytes[kLanes] = {};
    for (size_t i = 0; i < part.count; ++i) bytes[i] = p[i];
    return from_bytes(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
  }
  static Vector from_bytes(__m128i bytes) {
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
  }

  // Stores the lanes of x and ids whose bits are set in `mask` contiguously, and returns their number. If ids is null,
  // the ids are first_id, first_id + 1, ... The rest of the 16 elements may be overwritten.
  static size_t compress(uint32_t mask, const float* x, const int32_t* ids, int32_t first_id, float* kept_x,
                         int32_t* kept_ids) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256 x_low = _mm256_loadu_ps(x), x_high = _mm256_loadu_ps(x + 8);
    __m256i id_low = _mm256_add_epi32(lane, _mm256_set1_epi32(first_id));
    __m256i id_high = _mm256_add_epi32(id_low, _mm256_set1_epi32(8));
    if (ids != nullptr) {
      id_low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ids));
      id_high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ids + 8));
    }
    const uint32_t low = mask & 0xff, high = mask >> 8;
    const int low_count = __builtin_popcount(low);
    store_permuted(low, x_low, id_low, kept_x, kept_ids);
    store_permuted(high, x_high, id_high, kept_x + low_count, kept_ids + low_count);
    return static_cast<size_t>(low_count + __builtin_popcount(high));
  }
  static __m256i compression(uint32_t mask) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(kCompressions.order[mask])));
  }
  static void store_permuted(uint32_t mask, __m256 x, __m256i ids, float* to_x, int32_t* to_ids) {
    const __m256i order = compression(mask);
    _mm256_storeu_ps(to_x, _mm256_permutevar8x32_ps(x, order));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to_ids), _mm256_permutevar8x32_epi32(ids, order));
  }

  // Stores the ids first_id + i of the set bits i of `mask` contiguously, and returns their number.
  static size_t compress_ids(uint32_t mask, int32_t first_id, int32_t* kept_ids) {
    const uint32_t low = mask & 0xff, high = mask >> 8;
    const int low_count = __builtin_popcount(low);
    const __m256i first = _mm256_set1_epi32(first_id), next = _mm256_set1_epi32(first_id + 8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(kept_ids), _mm256_add_epi32(compression(low), first));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(kept_ids + low_count), _mm256_add_epi32(compression(high), next));
    return static_cast<size_t>(low_count + __builtin_popcount(high));
  }

  // Sums the bits of each lane as integers, modulo 2^32.
  struct BitSums {
    __m256i low;
    __m256i high;
    BitSums() : low(_mm256_setzero_si256()), high(_mm256_setzero_si256()) {}
    void add(Vector x) {
      low = _mm256_add_epi32(low, _mm256_castps_si256(x.low));
      high = _mm256_add_epi32(high, _mm256_castps_si256(x.high));
    }
    void store(uint32_t* p) const {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), low);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 8), high);
    }
  };

  void store(float* p, Whole) const {
    _mm256_storeu_ps(p, low);
    _mm256_storeu_ps(p + 8, high);
  }
  void store(float* p, Part part) const {
    _mm256_maskstore_ps(p, mask_of(part, 0), low);
    _mm256_maskstore_ps(p + 8, mask_of(part, 8), high);
  }

  // Returns the lanes, rounded to integers, plus `offset`, as int8.
  __m128i rounded(int32_t offset) const {
    const __m256i offsets = _mm256_set1_epi32(offset);
    const __m256i a = _mm256_add_epi32(_mm256_cvtps_epi32(low), offsets);
    const __m256i b = _mm256_add_epi32(_mm256_cvtps_epi32(high), offsets);
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8);
    return _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  }
  void store_rounded(int8_t* p, int32_t offset, Whole) const {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), rounded(offset));
  }
  void store_rounded(int8_t* p, int32_t offset, Part part) const {
    alignas(16) int8_t bytes[kLanes];
    _mm_store_si128(reinterpret_cast<__m128i*>(bytes), rounded(offset));
    for (size_t i = 0; i < part.count; ++i) p[i] = bytes[i];
  }
};

inline Vector operator+(Vector a, Vector b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
inline Vector operator-(Vector a, Vector b) { return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
inline Vector operator*(Vector a, Vector b) { return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
inline Vector operator/(Vector a, Vector b) { return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)}; }
inline Vector fma(Vector a, Vector b, Vector c) {
  return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
inline Vector sqrt(Vector a) { return {_mm256_sqrt_ps(a.low), _mm256_sqrt_ps(a.high)}; }
inline Vector abs(Vector a) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return {_mm256_andnot_ps(sign, a.low), _mm256_andnot_ps(sign, a.high)};
}

// Return a > b ? a : b and a < b ? a : b. If either is NaN, the result is b.
inline Vector max(Vector a, Vector b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
inline Vector min(Vector a, Vector b) { return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)}; }

// Returns a >= b ? yes : no.
inline Vector select_ge(Vector a, Vector b, Vector yes, Vector no) {
  return {_mm256_blendv_ps(no.low, yes.low, _mm256_cmp_ps(a.low, b.low, _CMP_GE_OQ)),
          _mm256_blendv_ps(no.high, yes.high, _mm256_cmp_ps(a.high, b.high, _CMP_GE_OQ))};
}

// Returns v within the extent of the block and `other` beyond it.
inline Vector merge(Vector v, Whole, Vector) { return v; }
inline Vector merge(Vector v, Part part, Vector other) {
  return {_mm256_blendv_ps(other.low, v.low, _mm256_castsi256_ps(mask_of(part, 0))),
          _mm256_blendv_ps(other.high, v.high, _mm256_castsi256_ps(mask_of(part, 8)))};
}

inline uint32_t equal_mask(Vector a, Vector b) {
  const int low = _mm256_movemask_ps(_mm256_cmp_ps(a.low, b.low, _CMP_EQ_OQ));
  const int high = _mm256_movemask_ps(_mm256_cmp_ps(a.high, b.high, _CMP_EQ_OQ));
  return static_cast<uint32_t>(low | high << 8);
}

inline uint32_t greater_equal_mask(Vector a, Vector b) {
  const int low = _mm256_movemask_ps(_mm256_cmp_ps(a.low, b.low, _CMP_GE_OQ));
  const int high = _mm256_movemask_ps(_mm256_cmp_ps(a.high, b.high, _CMP_GE_OQ));
  return static_cast<uint32_t>(low | high << 8);
}

// Returns p 2^n for t = n + kRoundToInteger. Both p and the result are normal.
inline __m256 scale(__m256 p, __m256 t) {
  const __m256i n = _mm256_slli_epi32(_mm256_castps_si256(t), 23);
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), n));
}
inline Vector scale(Vector p, Vector t) { return {scale(p.low, t.low), scale(p.high, t.high)}; }

// Adds up the lanes as a tree: lanes 8 apart, then 4, 2 and 1 apart.
inline float fold_add(Vector a) {
  const __m256 v8 = _mm256_add_ps(a.low, a.high);
  const __m128 v4 = _mm_add_ps(_mm256_castps256_ps128(v8), _mm256_extractf128_ps(v8, 1));
  const __m128 v2 = _mm_add_ps(v4, _mm_movehl_ps(v4, v4));
  return _mm_cvtss_f32(_mm_add_ss(v2, _mm_movehdup_ps(v2)));
}

// Returns the largest lane. No lane may be NaN.
inline float fold_max(Vector a) {
  const __m256 v8 = _mm256_max_ps(a.low, a.high);
  const __m128 v4 = _mm_max_ps(_mm256_castps256_ps128(v8), _mm256_extractf128_ps(v8, 1));
  const __m128 v2 = _mm_max_ps(v4, _mm_movehl_ps(v4, v4));
  return _mm_cvtss_f32(_mm_max_ss(v2, _mm_movehdup_ps(v2)));
}

}  // namespace
}  // namespace sotto::SOTTO_ISA
