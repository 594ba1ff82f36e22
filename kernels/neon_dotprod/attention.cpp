// Attention with sdot.
#include "kernels/generic/attention.h"

#include "kernels/neon/vector.h"
#include "kernels/tables.h"

namespace sotto::neon_dotprod {
namespace {

// Blocks of 16 bytes, four rows at a time.
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
      const int8x16_t q = vld1q_s8(query_ + j);
      const int8x16_t k = vld1q_s8(key + j);
      sum = vdotq_s32(sum, q, k);
    }
    return sum;
  }

  const int8_t* query_;
  size_t row_stride_;
};

}  // namespace

void attention(const AttentionArgs& args) {
  generic::attention<neon::Vector, Dots>(args);
}

}  // namespace sotto::neon_dotprod
