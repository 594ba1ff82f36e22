// 4-bit linear layers with NEON, four adjacent outputs at a time. `Dot` computes the dot product of a block for each
// output.
#pragma once

#include <arm_neon.h>

#include "kernels/generic/int4.h"

namespace sotto::SOTTO_ISA {

template <class Dot>
struct Int4Vector {
  static constexpr size_t kColumns = 4;
  static constexpr size_t kMaxRows = 12;
  static constexpr size_t kMaxRowsOfWholeTile = 3;
  using Sums = int32x4_t;

  struct Weights {
    int8x16_t bytes[8];  // four inputs per register

    explicit Weights(const uint8_t* nibbles) {
#pragma GCC unroll 4
      for (size_t i = 0; i < 4; ++i) {
        const uint8x16_t both = vld1q_u8(nibbles + i * kInt4ChunkBytes);
        bytes[2 * i] = vreinterpretq_s8_u8(vandq_u8(both, vdupq_n_u8(15)));
        bytes[2 * i + 1] = vreinterpretq_s8_u8(vshrq_n_u8(both, 4));
      }
    }
  };

  struct Scales {
    int32x4_t values;
    explicit Scales(const int8_t* bytes) {
      int32_t four;
      std::memcpy(&four, bytes, sizeof four);
      const int16x8_t wide = vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(four)));
      values = vmovl_s16(vget_low_s16(wide));
    }
  };

  static int32_t start(const int8_t* q) {
    return -kInt4Zero * (vaddlvq_s8(vld1q_s8(q)) + vaddlvq_s8(vld1q_s8(q + 16)));
  }

  static void prefetch(const uint8_t* nibbles) {
    constexpr size_t kDistance = 1024;
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) __builtin_prefetch(nibbles + kDistance + i * kInt4ChunkBytes);
  }

  static void add_block(Sums& sums, const Weights& weights, const Scales& scales, const int8_t* q,
                        const int32_t* start) {
    sums = vmlaq_s32(sums, Dot::multiply(vdupq_n_s32(*start), weights.bytes, q), scales.values);
  }

  static void finish(Sums sums, const Int4Frame& frame, size_t column, const RowQuantization& quantization, float* y) {
    const int32x4_t dots = vmlsq_s32(sums, vdupq_n_s32(quantization.zero_point), vld1q_s32(frame.sums + column));
    const float32x4_t scaled = vmulq_n_f32(vcvtq_f32_s32(dots), quantization.scale);
    vst1q_f32(y, vfmaq_f32(vld1q_f32(frame.biases + column), scaled, vld1q_f32(frame.scales + column)));
  }
};

}  // namespace sotto::SOTTO_ISA
