// Four columns of numbers. Unnamed namespace: see kernels/generic/block.h.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace sotto::neon {
namespace {

class Columns {
 public:
  static constexpr size_t kCount = 4;
  struct Row {
    float32x4_t v;
  };

  // How many rows each column has.
  explicit Columns(const uint8_t* counts) {
    const int32_t four[4] = {counts[0], counts[1], counts[2], counts[3]};
    counts_ = vld1q_s32(four);
  }

  // Row `row`, with 0 where a column has none.
  Row load(const float* p, int row) const {
    const uint32x4_t has = vcgtq_s32(counts_, vdupq_n_s32(row));
    return {vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(vld1q_f32(p)), has))};
  }

  // The larger into `a`.
  static void order(Row& a, Row& b) {
    const float32x4_t larger = vmaxq_f32(a.v, b.v);
    b.v = vminq_f32(a.v, b.v);
    a.v = larger;
  }

  // Writes the columns, each at the end of its predecessor's counted rows; returns the end.
  static float* store(const Row (&rows)[16], const uint8_t* counts, float* to) {
    float32x4_t columns[4][4];  // (column, quarter)
    for (size_t quarter = 0; quarter < 4; ++quarter) {
      const Row* row = rows + 4 * quarter;
      const float32x4_t a = vtrn1q_f32(row[0].v, row[1].v), b = vtrn2q_f32(row[0].v, row[1].v);
      const float32x4_t c = vtrn1q_f32(row[2].v, row[3].v), d = vtrn2q_f32(row[2].v, row[3].v);
      columns[0][quarter] = vcombine_f32(vget_low_f32(a), vget_low_f32(c));
      columns[1][quarter] = vcombine_f32(vget_low_f32(b), vget_low_f32(d));
      columns[2][quarter] = vcombine_f32(vget_high_f32(a), vget_high_f32(c));
      columns[3][quarter] = vcombine_f32(vget_high_f32(b), vget_high_f32(d));
    }
    for (size_t i = 0; i < 4; ++i) {
      for (size_t quarter = 0; quarter < 4; ++quarter) {
        vst1q_f32(to + 4 * quarter, columns[i][quarter]);
      }
      to += counts[i];
    }
    return to;
  }

 private:
  int32x4_t counts_;
};

}  // namespace
}  // namespace sotto::neon
