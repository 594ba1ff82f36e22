// Sums and maxima across registers. Unnamed namespace: see kernels/generic/block.h.
#pragma once

#include <immintrin.h>

namespace sotto::avx512 {
namespace {

// Each joins the halves of what two registers hold.
template <typename Join>
inline __m512i fold_32(__m512i a, __m512i b, Join join) {
  return join(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}
template <typename Join>
inline __m512i fold_64(__m512i a, __m512i b, Join join) {
  return join(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}
template <typename Join>
inline __m512i fold_128(__m512i a, __m512i b, Join join) {
  return join(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
}

// Four registers to one: within each 128 bits, the 128 bits of each, joined.
template <typename Join>
inline __m512i fold_quads(const __m512i* r, Join join) {
  return fold_64(fold_32(r[0], r[1], join), fold_32(r[2], r[3], join), join);
}

// Lane i: the 16 lanes of rows[i], joined.
template <typename Join>
inline __m512i fold_rows(const __m512i (&rows)[16], Join join) {
  const __m512i low = fold_128(fold_quads(rows, join), fold_quads(rows + 4, join), join);
  const __m512i high = fold_128(fold_quads(rows + 8, join), fold_quads(rows + 12, join), join);
  return fold_128(low, high, join);
}

// Lane i: the sum of the 16 lanes of rows[i].
inline __m512i sum_rows(const __m512i (&rows)[16]) {
  return fold_rows(rows, [](__m512i a, __m512i b) { return _mm512_add_epi32(a, b); });
}

// Lane i: the largest of the 16 floats of rows[i].
inline __m512 max_rows(const __m512i (&rows)[16]) {
  return _mm512_castsi512_ps(fold_rows(rows, [](__m512i a, __m512i b) {
    return _mm512_castps_si512(_mm512_max_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
  }));
}

}  // namespace
}  // namespace sotto::avx512
