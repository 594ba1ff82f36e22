// 4-bit linear layers with the dot product instruction sdot.
#include "kernels/arm/neon/int4.h"
#include "kernels/dispatch/tables.h"

namespace sotto::neon_dotprod {
namespace {

struct Dot {
  static int32x4_t multiply(int32x4_t sum, const int8x16_t (&weights)[8], const int8_t* q) {
    const int8x16_t first = vld1q_s8(q), second = vld1q_s8(q + 16);
    sum = vdotq_laneq_s32(sum, weights[0], first, 0);
    sum = vdotq_laneq_s32(sum, weights[1], first, 1);
    sum = vdotq_laneq_s32(sum, weights[2], first, 2);
    sum = vdotq_laneq_s32(sum, weights[3], first, 3);
    sum = vdotq_laneq_s32(sum, weights[4], second, 0);
    sum = vdotq_laneq_s32(sum, weights[5], second, 1);
    sum = vdotq_laneq_s32(sum, weights[6], second, 2);
    return vdotq_laneq_s32(sum, weights[7], second, 3);
  }
};

}  // namespace

constinit const MatrixKernels kInt4 = generic::make_int4_kernels<Int4Vector<Dot>>();

}  // namespace sotto::neon_dotprod
