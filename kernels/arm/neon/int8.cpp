// Int8 linear layers that multiply int8 and add two products in int16.
#include "kernels/arm/neon/int8.h"
#include "kernels/dispatch/tables.h"

namespace sotto::neon {
namespace {

struct Int8Vector {
  static constexpr const TileLayout& kTiles = kNeonTiles;
  static constexpr size_t kGroup = 8;
  static constexpr size_t kMaxRows = 3;  // the sums of more rows would not fit the registers

  // Eight activations in both halves, rotated like the weights of a group.
  static int8x16_t load(const int8_t* q) {
    return vreinterpretq_s8_s64(vld1q_dup_s64(reinterpret_cast<const int64_t*>(q)));
  }
  static int8x16_t rotate(int8x16_t a) { return vextq_s8(a, a, 2); }

  template <size_t kRows>
  struct Sums {
    int32x4_t low[kRows];  // columns 0 to 3
    int32x4_t high[kRows];

    Sums() {
#pragma GCC unroll 4
      for (size_t r = 0; r < kRows; ++r) low[r] = high[r] = vdupq_n_s32(0);
    }

    // The sum of two products fits int16, because |weight| <= 127 and |activation| <= 128.
    void add(const int8_t* weights, const int8_t* q, size_t stride) {
      int8x16_t first[kRows], second[kRows];
#pragma GCC unroll 4
      for (size_t r = 0; r < kRows; ++r) {
        first[r] = load(q + r * stride);
        second[r] = load(q + r * stride + kGroup);
      }
      const int8x16x4_t first_weights = vld1q_s8_x4(weights), second_weights = vld1q_s8_x4(weights + 64);
#pragma GCC unroll 4
      for (size_t rotation = 0; rotation < 4; ++rotation) {
        const int8x16_t w = first_weights.val[rotation], v = second_weights.val[rotation];
#pragma GCC unroll 4
        for (size_t r = 0; r < kRows; ++r) {
          const int16x8_t a = vmull_s8(vget_low_s8(w), vget_low_s8(first[r]));
          const int16x8_t b = vmull_high_s8(w, first[r]);
          low[r] = vpadalq_s16(low[r], vmlal_s8(a, vget_low_s8(v), vget_low_s8(second[r])));
          high[r] = vpadalq_s16(high[r], vmlal_high_s8(b, v, second[r]));
          if (rotation < 3) {
            first[r] = rotate(first[r]);
            second[r] = rotate(second[r]);
          }
        }
      }
    }

    void add_group(const int8_t* weights, const int8_t* q, size_t stride) {
      for (size_t r = 0; r < kRows; ++r) {
        int8x16_t a = load(q + r * stride);
        for (size_t rotation = 0; rotation < 4; ++rotation, a = rotate(a)) {
          const int8x16_t w = vld1q_s8(weights + 16 * rotation);
          low[r] = vpadalq_s16(low[r], vmull_s8(vget_low_s8(w), vget_low_s8(a)));
          high[r] = vpadalq_s16(high[r], vmull_high_s8(w, a));
        }
      }
    }

    int32x4_t columns(size_t row, size_t i) const { return i == 0 ? low[row] : high[row]; }
  };
};

}  // namespace

constinit const MatrixKernels kInt8 = make_int8_kernels<Int8Vector>();

}  // namespace sotto::neon
