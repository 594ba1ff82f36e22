// The operations of kernels/generic with AVX2 vectors. Attention widens int8 to int16 and multiplies with vpmaddwd.
#include "kernels/dispatch/tables.h"
#include "kernels/generic/attention.h"
#include "kernels/generic/table.h"
#include "kernels/reference/attention_rows.h"
#include "kernels/x86/avx2/vector.h"

namespace sotto::avx2 {
namespace {

// Multiplies blocks of 16 bytes, eight rows at a time.
class Dots {
 public:
  Dots(const int8_t* query, size_t row_stride) : row_stride_(row_stride) {
    for (size_t j = 0; j * 16 < row_stride; ++j) query_[j] = widen(query + j * 16);
  }

  void operator()(const int8_t* keys, size_t count, float* scores) const {
    if (count < kRows) {
      for (size_t i = 0; i < count; ++i) scores[i] = multiply_1(keys + i * row_stride_);
      return;
    }
    generic::for_row_groups<kRows>(count, [&](size_t i) { multiply_8(keys + i * row_stride_, scores + i); });
  }

 private:
  static constexpr size_t kRows = 8;

  static __m256i widen(const int8_t* p) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }

  __m256i multiply(const int8_t* key) const {
    __m256i sum = _mm256_setzero_si256();
    for (size_t j = 0; j * 16 < row_stride_; ++j) {
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(query_[j], widen(key + j * 16)));
    }
    return sum;
  }

  float multiply_1(const int8_t* key) const {
    const __m256i sum = multiply(key);
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    s = _mm_hadd_epi32(s, s);
    s = _mm_hadd_epi32(s, s);
    return static_cast<float>(_mm_cvtsi128_si32(s));
  }

  // Multiplies eight rows, with all sums in registers.
  void multiply_8(const int8_t* keys, float* scores) const {
    __m256i sums[kRows];
#pragma GCC unroll 8
    for (size_t i = 0; i < kRows; ++i) sums[i] = _mm256_setzero_si256();
    for (size_t j = 0; j * 16 < row_stride_; ++j) {
      const int8_t* block = keys + j * 16;
#pragma GCC unroll 8
      for (size_t i = 0; i < kRows; ++i) {
        const __m256i products = _mm256_madd_epi16(query_[j], widen(block + i * row_stride_));
        sums[i] = _mm256_add_epi32(sums[i], products);
      }
    }
    const __m256i low = _mm256_hadd_epi32(_mm256_hadd_epi32(sums[0], sums[1]), _mm256_hadd_epi32(sums[2], sums[3]));
    const __m256i high = _mm256_hadd_epi32(_mm256_hadd_epi32(sums[4], sums[5]), _mm256_hadd_epi32(sums[6], sums[7]));
    const __m256i dots =
        _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x20), _mm256_permute2x128_si256(low, high, 0x31));
    _mm256_storeu_ps(scores, _mm256_cvtepi32_ps(dots));
  }

  size_t row_stride_;
  __m256i query_[kMaxHeadSize / 16];
};

}  // namespace

void attention(const AttentionArgs& args) { generic::attention<Vector, Dots>(args); }

constinit const Kernels kOps = generic::make_table<Vector>(Isa::kAvx2, attention, reference::attention_rows<attention>);

}  // namespace sotto::avx2
