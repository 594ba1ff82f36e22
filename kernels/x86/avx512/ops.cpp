// The operations of kernels/generic with AVX-512 vectors, compiled once for all instruction sets with these vectors.
// Their attention differs: the one in this file widens int8 to int16 and multiplies with vpmaddwd.
#include "kernels/dispatch/tables.h"
#include "kernels/generic/attention.h"
#include "kernels/generic/table.h"
#include "kernels/reference/attention_rows.h"
#include "kernels/x86/avx512/lanes.h"
#include "kernels/x86/avx512/vector.h"

namespace sotto::avx512 {
namespace {

// Multiplies blocks of 32 bytes, and one block of 16 bytes at the end of a row if its length requires that.
class Dots {
 public:
  Dots(const int8_t* query, size_t row_stride) : row_stride_(row_stride) {
    for (size_t j = 0; j * 32 < row_stride; ++j) query_[j] = widen(query + j * 32);
  }

  void operator()(const int8_t* keys, size_t count, float* scores) const {
    if (count < kLanes) {
      for (size_t i = 0; i < count; ++i) {
        const __m512i sum = multiply(keys + i * row_stride_);
        scores[i] = static_cast<float>(_mm512_reduce_add_epi32(sum));
      }
      return;
    }
    generic::for_row_groups<kLanes>(count, [&](size_t i) { multiply_16(keys + i * row_stride_, scores + i); });
  }

 private:
  static __m512i widen(const int8_t* p) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }

  // Widens sixteen bytes and appends zeros.
  static __m512i widen_half(const int8_t* p) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm512_cvtepi8_epi16(_mm256_zextsi128_si256(half));
  }

  __m512i multiply(const int8_t* key) const {
    __m512i sum = _mm512_setzero_si512();
    size_t j = 0;
    for (; (j + 1) * 32 <= row_stride_; ++j) {
      sum = _mm512_add_epi32(sum, _mm512_madd_epi16(query_[j], widen(key + j * 32)));
    }
    if (j * 32 < row_stride_) {
      sum = _mm512_add_epi32(sum, _mm512_madd_epi16(query_[j], widen_half(key + j * 32)));
    }
    return sum;
  }

  // Multiplies 16 rows, with all sums in registers.
  void multiply_16(const int8_t* keys, float* scores) const {
    __m512i sums[kLanes];
#pragma GCC unroll 16
    for (size_t i = 0; i < kLanes; ++i) sums[i] = _mm512_setzero_si512();
    size_t j = 0;
    for (; (j + 1) * 32 <= row_stride_; ++j) {
      const int8_t* block = keys + j * 32;
#pragma GCC unroll 16
      for (size_t i = 0; i < kLanes; ++i) {
        const __m512i products = _mm512_madd_epi16(query_[j], widen(block + i * row_stride_));
        sums[i] = _mm512_add_epi32(sums[i], products);
      }
    }
    if (j * 32 < row_stride_) {
      const int8_t* block = keys + j * 32;
#pragma GCC unroll 16
      for (size_t i = 0; i < kLanes; ++i) {
        const __m512i products = _mm512_madd_epi16(query_[j], widen_half(block + i * row_stride_));
        sums[i] = _mm512_add_epi32(sums[i], products);
      }
    }
    _mm512_storeu_ps(scores, _mm512_cvtepi32_ps(sum_rows(sums)));
  }

  size_t row_stride_;
  __m512i query_[kMaxHeadSize / 32];
};

}  // namespace

void attention(const AttentionArgs& args) { generic::attention<Vector, Dots>(args); }

constinit const Kernels kOps =
    generic::make_table<Vector>(Isa::kAvx512, attention, reference::attention_rows<attention>);

}  // namespace sotto::avx512

namespace sotto {

constinit const Kernels avx512vnni::kOps =
    avx512::generic::make_table<avx512::Vector>(Isa::kAvx512vnni, avx512vnni::attention, avx512vnni::attention_rows);
constinit const Kernels avx512amx::kOps =
    avx512::generic::make_table<avx512::Vector>(Isa::kAvx512amx, avx512vnni::attention, avx512amx::attention_rows);

}  // namespace sotto
