// Dot products of one int8 query with rows of keys, four rows at a time, in blocks of 16 bytes. `Step` multiplies a
// block: add(sum, query, key) returns the new sum.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace sotto::SOTTO_ISA {

template <class Step>
class Dots {
 public:
  Dots(const int8_t* query, size_t row_stride) : query_(query), row_stride_(row_stride) {}

  void operator()(const int8_t* keys, size_t count, float* scores) const {
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
      const int8_t* key = keys + i * row_stride_;
      const int32x4_t a = multiply(key);
      const int32x4_t b = multiply(key + row_stride_);
      const int32x4_t c = multiply(key + 2 * row_stride_);
      const int32x4_t d = multiply(key + 3 * row_stride_);
      const int32x4_t dots = vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d));
      vst1q_f32(scores + i, vcvtq_f32_s32(dots));
    }
    for (; i < count; ++i) {
      scores[i] = static_cast<float>(vaddvq_s32(multiply(keys + i * row_stride_)));
    }
  }

 private:
  int32x4_t multiply(const int8_t* key) const {
    int32x4_t sum = vdupq_n_s32(0);
    for (size_t j = 0; j < row_stride_; j += 16) {
      sum = Step::add(sum, vld1q_s8(query_ + j), vld1q_s8(key + j));
    }
    return sum;
  }

  const int8_t* query_;
  size_t row_stride_;
};

}  // namespace sotto::SOTTO_ISA
