// 4-bit linear layers with smlal. The sums of a whole block fit 16 bits.
#include "kernels/arm/neon/int4.h"
#include "kernels/dispatch/tables.h"

namespace sotto::neon {
namespace {

struct Dot {
  static int32x4_t multiply(int32x4_t sum, const int8x16_t (&weights)[8], const int8_t* q) {
    int16x8_t low = vdupq_n_s16(0), high = vdupq_n_s16(0);  // sums of two outputs each
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; ++i) {
      int32_t four;
      std::memcpy(&four, q + 4 * i, sizeof four);
      const int8x16_t activations = vreinterpretq_s8_s32(vdupq_n_s32(four));
      low = vmlal_s8(low, vget_low_s8(weights[i]), vget_low_s8(activations));
      high = vmlal_high_s8(high, weights[i], activations);
    }
    return vaddq_s32(sum, vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
  }
};

}  // namespace

constinit const MatrixKernels kInt4 = generic::make_int4_kernels<Int4Vector<Dot>>();

}  // namespace sotto::neon
