// Int8 linear layers with the matrix instruction smmla, which multiplies two rows of eight activations with two columns
// of eight weights.
#include "kernels/arm/neon/int8.h"
#include "kernels/dispatch/tables.h"

namespace sotto::neon_i8mm {
namespace {

int8x16_t first_halves(int8x16_t a, int8x16_t b) {
  return vreinterpretq_s8_s64(vtrn1q_s64(vreinterpretq_s64_s8(a), vreinterpretq_s64_s8(b)));
}
int8x16_t second_halves(int8x16_t a, int8x16_t b) {
  return vreinterpretq_s8_s64(vtrn2q_s64(vreinterpretq_s64_s8(a), vreinterpretq_s64_s8(b)));
}

struct Int8Vector {
  static constexpr const TileLayout& kTiles = kI8mmTiles;
  static constexpr size_t kGroup = 8;
  static constexpr size_t kMaxRows = 4;

  template <size_t kRows>
  struct Sums {
    // If the number of rows is odd, the last row is multiplied twice.
    static constexpr size_t kPairs = (kRows + 1) / 2;
    static constexpr size_t second_row(size_t pair) { return 2 * pair + 1 < kRows ? 2 * pair + 1 : kRows - 1; }

    int32x4_t sums[kPairs][8];  // (row 0, column 0), (row 0, column 1), (row 1, column 0), (row 1, column 1)

    Sums() {
#pragma GCC unroll 2
      for (size_t p = 0; p < kPairs; ++p) {
#pragma GCC unroll 8
        for (size_t i = 0; i < 8; ++i) sums[p][i] = vdupq_n_s32(0);
      }
    }

    void add(const int8_t* weights, const int8_t* q, size_t stride) {
      int8x16_t first[kPairs], second[kPairs];
#pragma GCC unroll 2
      for (size_t p = 0; p < kPairs; ++p) {
        const int8x16_t a = vld1q_s8(q + 2 * p * stride);
        const int8x16_t b = vld1q_s8(q + second_row(p) * stride);
        first[p] = first_halves(a, b);
        second[p] = second_halves(a, b);
      }
      add_depth(weights, first);
      add_depth(weights + 128, second);
    }

    void add_group(const int8_t* weights, const int8_t* q, size_t stride) {
      int8x16_t a[kPairs];
#pragma GCC unroll 2
      for (size_t p = 0; p < kPairs; ++p) {
        a[p] = vcombine_s8(vld1_s8(q + 2 * p * stride), vld1_s8(q + second_row(p) * stride));
      }
      add_depth(weights, a);
    }

    void add_depth(const int8_t* weights, const int8x16_t (&a)[kPairs]) {
#pragma GCC unroll 2
      for (size_t half = 0; half < 8; half += 4) {
        const int8x16x4_t w = vld1q_s8_x4(weights + 16 * half);
#pragma GCC unroll 2
        for (size_t p = 0; p < kPairs; ++p) {
#pragma GCC unroll 4
          for (size_t i = 0; i < 4; ++i) sums[p][half + i] = vmmlaq_s32(sums[p][half + i], a[p], w.val[i]);
        }
      }
    }

    int32x4_t columns(size_t row, size_t i) const {
      const int64x2_t a = vreinterpretq_s64_s32(sums[row / 2][2 * i]);
      const int64x2_t b = vreinterpretq_s64_s32(sums[row / 2][2 * i + 1]);
      return vreinterpretq_s32_s64(row % 2 == 0 ? vtrn1q_s64(a, b) : vtrn2q_s64(a, b));
    }
  };
};

}  // namespace

constinit const MatrixKernels kInt8 = make_int8_kernels<Int8Vector>();

}  // namespace sotto::neon_i8mm
