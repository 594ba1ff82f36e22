// The 16 lanes of a vector in four NEON registers. kernels/generic/vector.h explains the unnamed namespace.
#pragma once

#include <arm_neon.h>

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
  float32x4_t v[4];  // v[k] holds lanes 4k ... 4k + 3

  static Vector zero() { return broadcast(0.0f); }
  static Vector broadcast(float x) {
    const float32x4_t v = vdupq_n_f32(x);
    return {{v, v, v, v}};
  }

  static Vector load(const float* p, Whole) {
    return {{vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}};
  }
  static Vector load(const float* p, Part part) {
    float lanes[kLanes] = {};
    for (size_t i = 0; i < part.count; ++i) lanes[i] = p[i];
    return load(lanes, Whole{});
  }
  static Vector load(const int8_t* p, Whole) {
    const int8x16_t bytes = vld1q_s8(p);
    const int16x8_t low = vmovl_s8(vget_low_s8(bytes));
    const int16x8_t high = vmovl_high_s8(bytes);
    return {{vcvtq_f32_s32(vmovl_s16(vget_low_s16(low))), vcvtq_f32_s32(vmovl_high_s16(low)),
             vcvtq_f32_s32(vmovl_s16(vget_low_s16(high))), vcvtq_f32_s32(vmovl_high_s16(high))}};
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
    const int32_t lane[4] = {0, 1, 2, 3};
    uint8x16_t values[4], tokens[4];
    for (int k = 0; k < 4; ++k) {
      values[k] = vreinterpretq_u8_f32(vld1q_f32(x + 4 * k));
      const int32x4_t counted = vaddq_s32(vld1q_s32(lane), vdupq_n_s32(first_id + 4 * k));
      tokens[k] = vreinterpretq_u8_s32(ids != nullptr ? vld1q_s32(ids + 4 * k) : counted);
    }
    size_t kept = 0;
    for (int k = 0; k < 4; ++k) {
      const uint32_t part = mask >> 4 * k & 15;
      const uint8x16_t order = vld1q_u8(kCompressions.order[part]);
      vst1q_f32(kept_x + kept, vreinterpretq_f32_u8(vqtbl1q_u8(values[k], order)));
      vst1q_s32(kept_ids + kept, vreinterpretq_s32_u8(vqtbl1q_u8(tokens[k], order)));
      kept += static_cast<size_t>(__builtin_popcount(part));
    }
    return kept;
  }

  // Stores the ids first_id + i of the set bits i of `mask` contiguously, and returns their number.
  static size_t compress_ids(uint32_t mask, int32_t first_id, int32_t* kept_ids) {
    const int32_t lane[4] = {0, 1, 2, 3};
    size_t kept = 0;
    for (int k = 0; k < 4; ++k) {
      const uint32_t part = mask >> 4 * k & 15;
      const int32x4_t ids = vaddq_s32(vld1q_s32(lane), vdupq_n_s32(first_id + 4 * k));
      const uint8x16_t order = vld1q_u8(kCompressions.order[part]);
      vst1q_s32(kept_ids + kept, vreinterpretq_s32_u8(vqtbl1q_u8(vreinterpretq_u8_s32(ids), order)));
      kept += static_cast<size_t>(__builtin_popcount(part));
    }
    return kept;
  }

  // Sums the bits of each lane as integers, modulo 2^32.
  struct BitSums {
    uint32x4_t v[4] = {vdupq_n_u32(0), vdupq_n_u32(0), vdupq_n_u32(0), vdupq_n_u32(0)};
    void add(Vector x) {
      for (int k = 0; k < 4; ++k) v[k] = vaddq_u32(v[k], vreinterpretq_u32_f32(x.v[k]));
    }
    void store(uint32_t* p) const {
      for (int k = 0; k < 4; ++k) vst1q_u32(p + 4 * k, v[k]);
    }
  };

  void store(float* p, Whole) const {
    vst1q_f32(p, v[0]);
    vst1q_f32(p + 4, v[1]);
    vst1q_f32(p + 8, v[2]);
    vst1q_f32(p + 12, v[3]);
  }
  void store(float* p, Part part) const {
    float lanes[kLanes];
    store(lanes, Whole{});
    for (size_t i = 0; i < part.count; ++i) p[i] = lanes[i];
  }

  // Stores the lanes, rounded to integers, plus `offset`, as int8.
  void store_rounded(int8_t* p, int32_t offset, Whole) const {
    const int32x4_t offsets = vdupq_n_s32(offset);
    const int32x4_t a = vaddq_s32(vcvtnq_s32_f32(v[0]), offsets);
    const int32x4_t b = vaddq_s32(vcvtnq_s32_f32(v[1]), offsets);
    const int32x4_t c = vaddq_s32(vcvtnq_s32_f32(v[2]), offsets);
    const int32x4_t d = vaddq_s32(vcvtnq_s32_f32(v[3]), offsets);
    const int16x8_t low = vcombine_s16(vmovn_s32(a), vmovn_s32(b));
    const int16x8_t high = vcombine_s16(vmovn_s32(c), vmovn_s32(d));
    vst1q_s8(p, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
  }
  void store_rounded(int8_t* p, int32_t offset, Part part) const {
    int8_t bytes[kLanes];
    store_rounded(bytes, offset, Whole{});
    for (size_t i = 0; i < part.count; ++i) p[i] = bytes[i];
  }
};

inline Vector operator+(Vector a, Vector b) {
  return {{vaddq_f32(a.v[0], b.v[0]), vaddq_f32(a.v[1], b.v[1]), vaddq_f32(a.v[2], b.v[2]), vaddq_f32(a.v[3], b.v[3])}};
}
inline Vector operator-(Vector a, Vector b) {
  return {{vsubq_f32(a.v[0], b.v[0]), vsubq_f32(a.v[1], b.v[1]), vsubq_f32(a.v[2], b.v[2]), vsubq_f32(a.v[3], b.v[3])}};
}
inline Vector operator*(Vector a, Vector b) {
  return {{vmulq_f32(a.v[0], b.v[0]), vmulq_f32(a.v[1], b.v[1]), vmulq_f32(a.v[2], b.v[2]), vmulq_f32(a.v[3], b.v[3])}};
}
inline Vector operator/(Vector a, Vector b) {
  return {{vdivq_f32(a.v[0], b.v[0]), vdivq_f32(a.v[1], b.v[1]), vdivq_f32(a.v[2], b.v[2]), vdivq_f32(a.v[3], b.v[3])}};
}
inline Vector fma(Vector a, Vector b, Vector c) {
  return {{vfmaq_f32(c.v[0], a.v[0], b.v[0]), vfmaq_f32(c.v[1], a.v[1], b.v[1]), vfmaq_f32(c.v[2], a.v[2], b.v[2]),
           vfmaq_f32(c.v[3], a.v[3], b.v[3])}};
}
inline Vector sqrt(Vector a) {
  return {{vsqrtq_f32(a.v[0]), vsqrtq_f32(a.v[1]), vsqrtq_f32(a.v[2]), vsqrtq_f32(a.v[3])}};
}
inline Vector abs(Vector a) { return {{vabsq_f32(a.v[0]), vabsq_f32(a.v[1]), vabsq_f32(a.v[2]), vabsq_f32(a.v[3])}}; }

// Return a > b ? a : b and a < b ? a : b. If either is NaN, the result is b.
inline float32x4_t max(float32x4_t a, float32x4_t b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
inline float32x4_t min(float32x4_t a, float32x4_t b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
inline Vector max(Vector a, Vector b) {
  return {{max(a.v[0], b.v[0]), max(a.v[1], b.v[1]), max(a.v[2], b.v[2]), max(a.v[3], b.v[3])}};
}
inline Vector min(Vector a, Vector b) {
  return {{min(a.v[0], b.v[0]), min(a.v[1], b.v[1]), min(a.v[2], b.v[2]), min(a.v[3], b.v[3])}};
}

// Returns a >= b ? yes : no.
inline Vector select_ge(Vector a, Vector b, Vector yes, Vector no) {
  return {{vbslq_f32(vcgeq_f32(a.v[0], b.v[0]), yes.v[0], no.v[0]),
           vbslq_f32(vcgeq_f32(a.v[1], b.v[1]), yes.v[1], no.v[1]),
           vbslq_f32(vcgeq_f32(a.v[2], b.v[2]), yes.v[2], no.v[2]),
           vbslq_f32(vcgeq_f32(a.v[3], b.v[3]), yes.v[3], no.v[3])}};
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
  const uint32_t bit[4] = {1, 2, 4, 8};
  const uint32x4_t bits = vld1q_u32(bit);
  uint32_t mask = 0;
  for (int k = 0; k < 4; ++k) {
    mask |= vaddvq_u32(vandq_u32(vceqq_f32(a.v[k], b.v[k]), bits)) << 4 * k;
  }
  return mask;
}

inline uint32_t greater_equal_mask(Vector a, Vector b) {
  const uint32_t bit[4] = {1, 2, 4, 8};
  const uint32x4_t bits = vld1q_u32(bit);
  uint32_t mask = 0;
  for (int k = 0; k < 4; ++k) {
    mask |= vaddvq_u32(vandq_u32(vcgeq_f32(a.v[k], b.v[k]), bits)) << 4 * k;
  }
  return mask;
}

// Returns p 2^n for t = n + kRoundToInteger. Both p and the result are normal.
inline float32x4_t scale(float32x4_t p, float32x4_t t) {
  const uint32x4_t n = vshlq_n_u32(vreinterpretq_u32_f32(t), 23);
  return vreinterpretq_f32_u32(vaddq_u32(vreinterpretq_u32_f32(p), n));
}
inline Vector scale(Vector p, Vector t) {
  return {{scale(p.v[0], t.v[0]), scale(p.v[1], t.v[1]), scale(p.v[2], t.v[2]), scale(p.v[3], t.v[3])}};
}

// Adds up the lanes as a tree: lanes 8 apart, then 4, 2 and 1 apart.
inline float fold_add(Vector a) {
  const float32x4_t v4 = vaddq_f32(vaddq_f32(a.v[0], a.v[2]), vaddq_f32(a.v[1], a.v[3]));
  const float32x2_t v2 = vadd_f32(vget_low_f32(v4), vget_high_f32(v4));
  return vget_lane_f32(v2, 0) + vget_lane_f32(v2, 1);
}

// Returns the largest lane. No lane may be NaN.
inline float fold_max(Vector a) { return vmaxvq_f32(max(max(a.v[0], a.v[2]), max(a.v[1], a.v[3]))); }

}  // namespace
}  // namespace sotto::SOTTO_ISA
