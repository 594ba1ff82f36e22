// Sixteen columns of numbers. Unnamed namespace: see kernels/generic/block.h.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/avx512/transpose.h"

namespace sotto::avx512 {
namespace {

class Columns {
 public:
  static constexpr size_t kCount = 16;
  struct Row {
    __m512 v;
  };

  // How many rows each column has.
  explicit Columns(const uint8_t* counts)
      : counts_(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(counts)))) {}

  // Row `row`, with 0 where a column has none.
  Row load(const float* p, int row) const {
    return {_mm512_maskz_loadu_ps(_mm512_cmpgt_epi32_mask(counts_, _mm512_set1_epi32(row)), p)};
  }

  // The larger into `a`.
  static void order(Row& a, Row& b) {
    const __m512 larger = _mm512_max_ps(a.v, b.v);
    b.v = _mm512_min_ps(a.v, b.v);
    a.v = larger;
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
  __m512i counts_;
};

}  // namespace
}  // namespace sotto::avx512
