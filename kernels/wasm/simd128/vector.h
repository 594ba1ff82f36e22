// The 16 lanes of a vector in four 128-bit registers of WebAssembly. kernels/generic/vector.h explains the unnamed
// namespace.
//
// SIMD128 has no fused multiplication and addition, so fma() computes in double precision. Relaxed SIMD has an
// instruction that is fused if the CPU supports it; relaxed_simd/is_exact.cpp checks this.
#pragma once

#include <wasm_simd128.h>

#include <cfloat>
#include <cstddef>
#include <cstdint>

#include "kernels/generic/compressions.h"
#include "kernels/generic/vector.h"

namespace sotto::SOTTO_ISA {
namespace {

using generic::Part;
using generic::Whole;

inline constexpr Compressions<4, sizeof(float)> kCompressions;

struct Vector {
  v128_t v[4];  // v[k] holds lanes 4k ... 4k + 3

  static Vector zero() { return broadcast(0.0f); }
  static Vector broadcast(float x) {
    const v128_t v = wasm_f32x4_splat(x);
    return {{v, v, v, v}};
  }

  static Vector load(const float* p, Whole) {
    return {{wasm_v128_load(p), wasm_v128_load(p + 4), wasm_v128_load(p + 8), wasm_v128_load(p + 12)}};
  }
  static Vector load(const float* p, Part part) {
    float lanes[kLanes] = {};
    for (size_t i = 0; i < part.count; ++i) lanes[i] = p[i];
    return load(lanes, Whole{});
  }
  static Vector load(const int8_t* p, Whole) {
    const v128_t low = wasm_i16x8_load8x8(p), high = wasm_i16x8_load8x8(p + 8);
    return {{wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(low)),
             wasm_f32x4_convert_i32x4(wasm_i32x4_extend_high_i16x8(low)),
             wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(high)),
             wasm_f32x4_convert_i32x4(wasm_i32x4_extend_high_i16x8(high))}};
  }
  static Vector load(const int8_t* p, Part part) {
    int8_t bytes[kLanes] = {};
    for (size_t i = 0; i < part.count; ++i) bytes[i] = p[i];
    return load(bytes, Whole{});
  }

  // Stores the lanes of x and ids whose bits are set in `mask` contiguously, and returns their number. If ids is null,
  // the ids are first_id, first_id + 1, ... The rest of the 16 elements may be overwritten.
  static size_t compress(uint32_t mask, const float* x, const int32_t* ids, int32_t first_id, float* kept_x,
                         int32_t* kept_ids) {
    v128_t values[4], tokens[4];
    for (int k = 0; k < 4; ++k) {
      values[k] = wasm_v128_load(x + 4 * k);
      tokens[k] = ids != nullptr ? wasm_v128_load(ids + 4 * k) : counted(first_id + 4 * k);
    }
    size_t kept = 0;
    for (int k = 0; k < 4; ++k) {
      const uint32_t part = mask >> 4 * k & 15;
      const v128_t order = wasm_v128_load(kCompressions.order[part]);
      wasm_v128_store(kept_x + kept, wasm_i8x16_swizzle(values[k], order));
      wasm_v128_store(kept_ids + kept, wasm_i8x16_swizzle(tokens[k], order));
      kept += static_cast<size_t>(__builtin_popcount(part));
    }
    return kept;
  }

  // Stores the ids first_id + i of the set bits i of `mask` contiguously, and returns their number.
  static size_t compress_ids(uint32_t mask, int32_t first_id, int32_t* kept_ids) {
    size_t kept = 0;
    for (int k = 0; k < 4; ++k) {
      const uint32_t part = mask >> 4 * k & 15;
      const v128_t order = wasm_v128_load(kCompressions.order[part]);
      wasm_v128_store(kept_ids + kept, wasm_i8x16_swizzle(counted(first_id + 4 * k), order));
      kept += static_cast<size_t>(__builtin_popcount(part));
    }
    return kept;
  }

  // Sums the bits of each lane as integers, modulo 2^32.
  struct BitSums {
    v128_t v[4] = {};
    void add(Vector x) {
      for (int k = 0; k < 4; ++k) v[k] = wasm_i32x4_add(v[k], x.v[k]);
    }
    void store(uint32_t* p) const {
      for (int k = 0; k < 4; ++k) wasm_v128_store(p + 4 * k, v[k]);
    }
  };

  void store(float* p, Whole) const {
    for (int k = 0; k < 4; ++k) wasm_v128_store(p + 4 * k, v[k]);
  }
  void store(float* p, Part part) const {
    float lanes[kLanes];
    store(lanes, Whole{});
    for (size_t i = 0; i < part.count; ++i) p[i] = lanes[i];
  }

  // Stores the lanes, rounded to integers, plus `offset`, as int8. The lanes are less than 2^22 in magnitude.
  void store_rounded(int8_t* p, int32_t offset, Whole) const {
    const v128_t magic = wasm_f32x4_splat(kRoundToInteger);
    const v128_t base = wasm_i32x4_sub(magic, wasm_i32x4_splat(offset));
    v128_t n[4];
    for (int k = 0; k < 4; ++k) n[k] = wasm_i32x4_sub(wasm_f32x4_add(v[k], magic), base);
    wasm_v128_store(p,
                    wasm_i8x16_narrow_i16x8(wasm_i16x8_narrow_i32x4(n[0], n[1]), wasm_i16x8_narrow_i32x4(n[2], n[3])));
  }
  void store_rounded(int8_t* p, int32_t offset, Part part) const {
    int8_t bytes[kLanes];
    store_rounded(bytes, offset, Whole{});
    for (size_t i = 0; i < part.count; ++i) p[i] = bytes[i];
  }

 private:
  static v128_t counted(int32_t first) { return wasm_i32x4_add(wasm_i32x4_splat(first), wasm_i32x4_const(0, 1, 2, 3)); }
};

template <class Operation>
inline Vector for_each_register(Operation operation) {
  return {{operation(0), operation(1), operation(2), operation(3)}};
}

inline Vector operator+(Vector a, Vector b) {
  return for_each_register([=](int k) { return wasm_f32x4_add(a.v[k], b.v[k]); });
}
inline Vector operator-(Vector a, Vector b) {
  return for_each_register([=](int k) { return wasm_f32x4_sub(a.v[k], b.v[k]); });
}
inline Vector operator*(Vector a, Vector b) {
  return for_each_register([=](int k) { return wasm_f32x4_mul(a.v[k], b.v[k]); });
}
inline Vector operator/(Vector a, Vector b) {
  return for_each_register([=](int k) { return wasm_f32x4_div(a.v[k], b.v[k]); });
}

#if defined(__wasm_relaxed_simd__)
inline v128_t fma(v128_t a, v128_t b, v128_t c) { return wasm_f32x4_relaxed_madd(a, b, c); }
#else
// Returns a b + c of the low two lanes, rounded to double precision. The product is exact.
inline v128_t add_product(v128_t a, v128_t b, v128_t c) {
  const v128_t product = wasm_f64x2_mul(wasm_f64x2_promote_low_f32x4(a), wasm_f64x2_promote_low_f32x4(b));
  return wasm_f64x2_add(product, wasm_f64x2_promote_low_f32x4(c));
}

// Returns lanes that are nonzero where rounding `sum` again, to single precision, may be wrong, which can happen
// halfway between two floats, and below the normal floats, where the halves have other bits.
inline v128_t is_doubtful(v128_t sum) {
  constexpr int64_t kRest = (int64_t{1} << 29) - 1, kHalf = int64_t{1} << 28;
  const v128_t is_half = wasm_i64x2_eq(wasm_v128_and(sum, wasm_i64x2_splat(kRest)), wasm_i64x2_splat(kHalf));
  return wasm_v128_or(is_half, wasm_f64x2_lt(wasm_f64x2_abs(sum), wasm_f64x2_splat(FLT_MIN)));
}

// Returns a b + c of the low two lanes, rounded once. The sum is rounded to odd, so that rounding it again to single
// precision gives the correct result (Boldo and Melquiond 2008).
inline v128_t fma_low(v128_t a, v128_t b, v128_t c) {
  const v128_t product = wasm_f64x2_mul(wasm_f64x2_promote_low_f32x4(a), wasm_f64x2_promote_low_f32x4(b));
  const v128_t addend = wasm_f64x2_promote_low_f32x4(c);
  const v128_t sum = wasm_f64x2_add(product, addend);
  // The error of the sum (Knuth's TwoSum).
  const v128_t other = wasm_f64x2_sub(sum, product);
  const v128_t error =
      wasm_f64x2_add(wasm_f64x2_sub(product, wasm_f64x2_sub(sum, other)), wasm_f64x2_sub(addend, other));
  const v128_t zero = wasm_f64x2_splat(0);
  const v128_t is_inexact = wasm_f64x2_gt(wasm_f64x2_abs(error), zero);  // false for NaN
  // If the error has the opposite sign, the sum is truncated; then the last bit is set.
  const v128_t is_above = wasm_v128_and(wasm_i64x2_gt(zero, wasm_v128_xor(sum, error)), is_inexact);
  const v128_t truncated = wasm_i64x2_add(sum, is_above);
  return wasm_f32x4_demote_f64x2_zero(wasm_v128_or(truncated, wasm_u64x2_shr(is_inexact, 63)));
}

inline v128_t high_lanes(v128_t x) { return wasm_i32x4_shuffle(x, x, 2, 3, 2, 3); }

[[gnu::noinline]] inline v128_t fma_exactly(v128_t a, v128_t b, v128_t c) {
  return wasm_i64x2_shuffle(fma_low(a, b, c), fma_low(high_lanes(a), high_lanes(b), high_lanes(c)), 0, 2);
}

inline v128_t fma(v128_t a, v128_t b, v128_t c) {
  const v128_t low = add_product(a, b, c);
  const v128_t high = add_product(high_lanes(a), high_lanes(b), high_lanes(c));
  if (wasm_v128_any_true(wasm_v128_or(is_doubtful(low), is_doubtful(high)))) return fma_exactly(a, b, c);
  return wasm_i64x2_shuffle(wasm_f32x4_demote_f64x2_zero(low), wasm_f32x4_demote_f64x2_zero(high), 0, 2);
}
#endif
inline Vector fma(Vector a, Vector b, Vector c) {
  return for_each_register([=](int k) { return fma(a.v[k], b.v[k], c.v[k]); });
}

inline Vector sqrt(Vector a) {
  return for_each_register([=](int k) { return wasm_f32x4_sqrt(a.v[k]); });
}
inline Vector abs(Vector a) {
  return for_each_register([=](int k) { return wasm_f32x4_abs(a.v[k]); });
}

// Return a > b ? a : b and a < b ? a : b. If either is NaN, the result is b. The instructions expect the operands in
// the other order.
inline v128_t max(v128_t a, v128_t b) { return wasm_f32x4_pmax(b, a); }
inline v128_t min(v128_t a, v128_t b) { return wasm_f32x4_pmin(b, a); }
inline Vector max(Vector a, Vector b) {
  return for_each_register([=](int k) { return max(a.v[k], b.v[k]); });
}
inline Vector min(Vector a, Vector b) {
  return for_each_register([=](int k) { return min(a.v[k], b.v[k]); });
}

// Returns a >= b ? yes : no.
inline Vector select_ge(Vector a, Vector b, Vector yes, Vector no) {
  return for_each_register(
      [=](int k) { return wasm_v128_bitselect(yes.v[k], no.v[k], wasm_f32x4_ge(a.v[k], b.v[k])); });
}

// Returns v within the extent of the block and `other` beyond it.
inline Vector merge(Vector v, Whole, Vector) { return v; }
inline Vector merge(Vector v, Part part, Vector other) {
  float lanes[kLanes];
  other.store(lanes, Whole{});
  v.store(lanes, part);
  return Vector::load(lanes, Whole{});
}

inline uint32_t equal_mask(Vector a, Vector b) {
  uint32_t mask = 0;
  for (int k = 0; k < 4; ++k) mask |= wasm_i32x4_bitmask(wasm_f32x4_eq(a.v[k], b.v[k])) << 4 * k;
  return mask;
}

inline uint32_t greater_equal_mask(Vector a, Vector b) {
  uint32_t mask = 0;
  for (int k = 0; k < 4; ++k) mask |= wasm_i32x4_bitmask(wasm_f32x4_ge(a.v[k], b.v[k])) << 4 * k;
  return mask;
}

// Returns p 2^n for t = n + kRoundToInteger. Both p and the result are normal.
inline Vector scale(Vector p, Vector t) {
  return for_each_register([=](int k) { return wasm_i32x4_add(p.v[k], wasm_i32x4_shl(t.v[k], 23)); });
}

// Adds up the lanes as a tree: lanes 8 apart, then 4, 2 and 1 apart.
inline float fold_add(Vector a) {
  const v128_t v4 = wasm_f32x4_add(wasm_f32x4_add(a.v[0], a.v[2]), wasm_f32x4_add(a.v[1], a.v[3]));
  const v128_t v2 = wasm_f32x4_add(v4, wasm_i32x4_shuffle(v4, v4, 2, 3, 2, 3));
  return wasm_f32x4_extract_lane(v2, 0) + wasm_f32x4_extract_lane(v2, 1);
}

// Returns the largest lane. No lane may be NaN.
inline float fold_max(Vector a) {
  const v128_t v4 = max(max(a.v[0], a.v[2]), max(a.v[1], a.v[3]));
  const v128_t v2 = max(v4, wasm_i32x4_shuffle(v4, v4, 2, 3, 2, 3));
  return wasm_f32x4_extract_lane(max(v2, wasm_i32x4_shuffle(v2, v2, 1, 0, 3, 2)), 0);
}

}  // namespace
}  // namespace sotto::SOTTO_ISA
