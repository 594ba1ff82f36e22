// Sixteen columns of numbers. Unnamed namespace: see kernels/generic/block.h.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/x86/avx512/transpose.h"

namespace sotto::avx512 {
namespace {

class Columns {
 public:
  static constexpr size_t kCount = 16;
  struct Row {
    __m512 v;
  };

  // How many rows each column has.
  explicit Columns(const uint8_t* counts) : counts_(_mm_loadu_si128(reinterpret_cast<const __m128i*>(counts))) {
    // Or compilers broadcast every row from a register, by the port that compares.
    asm("" : "+r"(rows_));
  }

  // Row `row`, with 0 where a column has none.
  Row load(const float* p, int row) const { return {_mm512_maskz_loadu_ps(counted(row), p)}; }

  // The larger into `a`.
  static void order(Row& a, Row& b) {
    const __m512 larger = _mm512_max_ps(a.v, b.v);
    b.v = _mm512_min_ps(a.v, b.v);
    a.v = larger;
  }

  bool any_is_empty() const { return _mm_test_epi8_mask(counts_, counts_) != 0xffff; }

  // As the op sum_column_bends; the columns are sorted, and none is empty.
  double sum_bends(Row (&rows)[16], float* next) const {
    const __m512 first = rows[0].v;
    const float largest = _mm512_cvtss_f32(first);
    if (largest > 1.25f * next[1]) return -1;
    // Below the counted rows is what follows: the first of the next column, and from there the same
    // gap, so that nothing bends.
    const __m512 behind = from_next(first, next[0]);
    __m512 gaps[17];
    __mmask16 has[16];
#pragma GCC unroll 15
    for (size_t i = 1; i < 16; ++i) {
      has[i] = counted(static_cast<int>(i));
      rows[i].v = _mm512_max_ps(rows[i].v, behind);
    }
    gaps[0] = _mm512_sub_ps(first, rows[1].v);
    gaps[16] = from_next(gaps[0], next[0] - next[1]);
#pragma GCC unroll 15
    for (size_t i = 1; i < 16; ++i) {
      const __m512 below = i < 15 ? rows[i + 1].v : behind;
      gaps[i] = _mm512_mask_sub_ps(gaps[16], has[i], rows[i].v, below);
    }
    __m512 sums[4];
#pragma GCC unroll 16
    for (size_t i = 0; i < 16; ++i) {
      const __m512 bend = _mm512_abs_ps(_mm512_sub_ps(gaps[i], gaps[i + 1]));
      sums[i % 4] = i < 4 ? bend : _mm512_add_ps(sums[i % 4], bend);
    }
    const __m512 sum = _mm512_add_ps(_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3]));
    next[0] = largest;
    next[1] = _mm512_cvtss_f32(rows[1].v);
    const __m256 v8 = _mm256_add_ps(_mm512_castps512_ps256(sum), _mm512_extractf32x8_ps(sum, 1));
    const __m128 v4 = _mm_add_ps(_mm256_castps256_ps128(v8), _mm256_extractf128_ps(v8, 1));
    const __m128 v2 = _mm_add_ps(v4, _mm_movehl_ps(v4, v4));
    return static_cast<double>(_mm_cvtss_f32(_mm_add_ss(v2, _mm_movehdup_ps(v2))));
  }

  // Writes the columns, each at the end of its predecessor's counted rows; returns the end.
  static float* store(const Row (&rows)[16], const uint8_t* counts, float* to) {
    __m512i columns[16];
#pragma GCC unroll 16
    for (size_t i = 0; i < 16; ++i) columns[i] = _mm512_castps_si512(rows[i].v);
    transpose(columns);
#pragma GCC unroll 16
    for (size_t i = 0; i < 16; ++i) {
      _mm512_storeu_si512(to, columns[i]);
      to += counts[i];
    }
    return to;
  }

 private:
  // The columns that have a row `row`.
  __mmask16 counted(int row) const {
    return _mm_cmpgt_epi8_mask(counts_, _mm_load_si128(reinterpret_cast<const __m128i*>(rows_[row])));
  }
  // Each column's number from the next, the last's from `last`.
  static __m512 from_next(__m512 x, float last) {
    return _mm512_castsi512_ps(
        _mm512_alignr_epi32(_mm512_castps_si512(_mm512_set1_ps(last)), _mm512_castps_si512(x), 1));
  }

  struct SameBytes {
    alignas(16) int8_t bytes[16][16];
  };
  static constexpr SameBytes kRows = [] {
    SameBytes rows = {};
    for (int i = 0; i < 256; ++i) rows.bytes[i / 16][i % 16] = static_cast<int8_t>(i / 16);
    return rows;
  }();

  __m128i counts_;
  const int8_t (*rows_)[16] = kRows.bytes;
};

}  // namespace
}  // namespace sotto::avx512
