// Int8 linear layers with the dot product instruction sdot.
#include "kernels/arm/neon/int8.h"
#include "kernels/dispatch/tables.h"

namespace sotto::neon_dotprod {
namespace {

struct Int8Vector {
  static constexpr const TileLayout& kTiles = kDotprodTiles;
  static constexpr size_t kGroup = 4;
  static constexpr size_t kMaxRows = 4;

  template <size_t kRows>
  struct Sums {
    int32x4_t sums[kRows][4];

    Sums() {
#pragma GCC unroll 4
      for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; ++i) sums[r][i] = vdupq_n_s32(0);
      }
    }

    void add(const int8_t* weights, const int8_t* q, size_t stride) {
      int8x16_t a[kRows];
#pragma GCC unroll 4
      for (size_t r = 0; r < kRows; ++r) a[r] = vld1q_s8(q + r * stride);
      add_depth<0>(weights, a);
      add_depth<1>(weights, a);
      add_depth<2>(weights, a);
      add_depth<3>(weights, a);
    }

    template <int kDepth>
    void add_depth(const int8_t* weights, const int8x16_t (&a)[kRows]) {
      const int8x16x4_t w = vld1q_s8_x4(weights + 64 * kDepth);
#pragma GCC unroll 4
      for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; ++i) sums[r][i] = vdotq_laneq_s32(sums[r][i], w.val[i], a[r], kDepth);
      }
    }

    void add_group(const int8_t* weights, const int8_t* q, size_t stride) {
#pragma GCC unroll 4
      for (size_t r = 0; r < kRows; ++r) {
        int32_t four;
        std::memcpy(&four, q + r * stride, sizeof four);
        const int8x16_t a = vreinterpretq_s8_s32(vdupq_n_s32(four));
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; ++i) sums[r][i] = vdotq_s32(sums[r][i], vld1q_s8(weights + 16 * i), a);
      }
    }

    int32x4_t columns(size_t row, size_t i) const { return sums[row][i]; }
  };
};

}  // namespace

constinit const MatrixKernels kInt8 = make_int8_kernels<Int8Vector>();

}  // namespace sotto::neon_dotprod
