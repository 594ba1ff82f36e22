// Eight columns of numbers. Unnamed namespace: see kernels/generic/block.h.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace sotto::avx2 {
namespace {

class Columns {
 public:
  static constexpr size_t kCount = 8;
  struct Row {
    __m256 v;
  };

  // How many rows each column has.
  explicit Columns(const uint8_t* counts)
      : counts_(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(counts)))) {}

  // Row `row`, with 0 where a column has none.
  Row load(const float* p, int row) const {
    const __m256i has = _mm256_cmpgt_epi32(counts_, _mm256_set1_epi32(row));
    return {_mm256_and_ps(_mm256_loadu_ps(p), _mm256_castsi256_ps(has))};
  }

  // The larger into `a`.
  static void order(Row& a, Row& b) {
    const __m256 larger = _mm256_max_ps(a.v, b.v);
    b.v = _mm256_min_ps(a.v, b.v);
    a.v = larger;
  }

  // Writes the columns, each at the end of its predecessor's counted rows; returns the end.
  static float* store(const Row (&rows)[16], const uint8_t* counts, float* to) {
    __m256 above[8], below[8];
    transpose(rows, above);
    transpose(rows + 8, below);
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; ++i) {
      _mm256_storeu_ps(to, above[i]);
      _mm256_storeu_ps(to + 8, below[i]);
      to += counts[i];
    }
    return to;
  }

 private:
  static void transpose(const Row* rows, __m256 (&columns)[8]) {
    // quads[4 i + j]: within 128 bits k, column 4 k + j of rows 4 i ... 4 i + 3.
    __m256 quads[8];
#pragma GCC unroll 2
    for (size_t i = 0; i < 8; i += 4) {
      const __m256 a = _mm256_unpacklo_ps(rows[i].v, rows[i + 1].v);
      const __m256 b = _mm256_unpackhi_ps(rows[i].v, rows[i + 1].v);
      const __m256 c = _mm256_unpacklo_ps(rows[i + 2].v, rows[i + 3].v);
      const __m256 d = _mm256_unpackhi_ps(rows[i + 2].v, rows[i + 3].v);
      quads[i] = _mm256_shuffle_ps(a, c, 0x44);
      quads[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
      quads[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
      quads[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
    }
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; ++j) {
      columns[j] = _mm256_permute2f128_ps(quads[j], quads[4 + j], 0x20);
      columns[4 + j] = _mm256_permute2f128_ps(quads[j], quads[4 + j], 0x31);
    }
  }

  __m256i counts_;
};

}  // namespace
}  // namespace sotto::avx2
