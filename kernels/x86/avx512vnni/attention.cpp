// Attention with vpdpbusd. It multiplies unsigned with signed bytes, so 128 is added to each key (k ^ 0x80), and 128
// times the sum of the query is subtracted afterwards.
#include "kernels/generic/attention.h"

#include "kernels/dispatch/tables.h"
#include "kernels/x86/avx512/lanes.h"
#include "kernels/x86/avx512/vector.h"

namespace sotto::avx512vnni {
namespace {

// Multiplies blocks of 64 bytes. The last one may be masked.
class Dots {
 public:
  Dots(const int8_t* query, size_t row_stride)
      : row_stride_(row_stride),
        whole_blocks_(row_stride / 64),
        tail_mask_(static_cast<__mmask16>((1u << row_stride % 64 / 4) - 1)) {
    const __m512i ones = _mm512_set1_epi8(1);
    __m512i sum = _mm512_setzero_si512();
    for (size_t j = 0; j * 64 < row_stride; ++j) {
      query_[j] = _mm512_load_si512(query + j * 64);
      sum = _mm512_dpbusd_epi32(sum, ones, query_[j]);
    }
    excess_ = 128 * _mm512_reduce_add_epi32(sum);
  }

  void operator()(const int8_t* keys, size_t count, float* scores) const {
    if (count < kLanes) {
      for (size_t i = 0; i < count; ++i) {
        const __m512i sum = multiply(keys + i * row_stride_);
        scores[i] = static_cast<float>(_mm512_reduce_add_epi32(sum) - excess_);
      }
      return;
    }
    generic::for_row_groups<kLanes>(count, [&](size_t i) { multiply_16(keys + i * row_stride_, scores + i); });
  }

 private:
  __m512i multiply(const int8_t* key) const {
    const __m512i offset = _mm512_set1_epi8(-128);
    __m512i sum = _mm512_setzero_si512();
    size_t j = 0;
    for (; j < whole_blocks_; ++j) {
      const __m512i k = _mm512_loadu_si512(key + j * 64);
      sum = _mm512_dpbusd_epi32(sum, _mm512_xor_si512(k, offset), query_[j]);
    }
    if (tail_mask_ != 0) {
      const __m512i k = _mm512_maskz_loadu_epi32(tail_mask_, key + j * 64);
      sum = _mm512_dpbusd_epi32(sum, _mm512_xor_si512(k, offset), query_[j]);
    }
    return sum;
  }

  // Multiplies 16 rows, with all sums in registers.
  void multiply_16(const int8_t* keys, float* scores) const {
    const __m512i offset = _mm512_set1_epi8(-128);
    __m512i sums[kLanes];
#pragma GCC unroll 16
    for (size_t i = 0; i < kLanes; ++i) sums[i] = _mm512_setzero_si512();
    size_t j = 0;
    for (; j < whole_blocks_; ++j) {
      const int8_t* block = keys + j * 64;
#pragma GCC unroll 16
      for (size_t i = 0; i < kLanes; ++i) {
        const __m512i k = _mm512_loadu_si512(block + i * row_stride_);
        sums[i] = _mm512_dpbusd_epi32(sums[i], _mm512_xor_si512(k, offset), query_[j]);
      }
    }
    if (tail_mask_ != 0) {
      const int8_t* block = keys + j * 64;
#pragma GCC unroll 16
      for (size_t i = 0; i < kLanes; ++i) {
        const __m512i k = _mm512_maskz_loadu_epi32(tail_mask_, block + i * row_stride_);
        sums[i] = _mm512_dpbusd_epi32(sums[i], _mm512_xor_si512(k, offset), query_[j]);
      }
    }
    const __m512i dots = _mm512_sub_epi32(sum_rows(sums), _mm512_set1_epi32(excess_));
    _mm512_storeu_ps(scores, _mm512_cvtepi32_ps(dots));
  }

  size_t row_stride_;
  size_t whole_blocks_;
  __mmask16 tail_mask_;
  int32_t excess_;
  __m512i query_[kMaxHeadSize / 64];
};

}  // namespace

void attention(const AttentionArgs& args) { generic::attention<Vector, Dots>(args); }

}  // namespace sotto::avx512vnni
