// Sums and maxima across registers. Unnamed namespace: see kernels/generic/block.h.
#pragma once

#include <immintrin.h>

namespace sotto::avx512 {
namespace {

inline __m512i add_interleaved_32(__m512i a, __m512i b) {
  return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}

inline __m512i add_interleaved_64(__m512i a, __m512i b) {
  return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

inline __m512i add_interleaved_128(__m512i a, __m512i b) {
  return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
}

// Four registers to one: within each 128 bits, the sums of the 128 bits of each.
inline __m512i sum_quads(const __m512i* r) {
  return add_interleaved_64(add_interleaved_32(r[0], r[1]), add_interleaved_32(r[2], r[3]));
}

// Lane i: the sum of the 16 lanes of rows[i].
inline __m512i sum_rows(const __m512i (&rows)[16]) {
  const __m512i low = add_interleaved_128(sum_quads(rows), sum_quads(rows + 4));
  const __m512i high = add_interleaved_128(sum_quads(rows + 8), sum_quads(rows + 12));
  return add_interleaved_128(low, high);
}

inline __m512 max_interleaved_32(__m512 a, __m512 b) {
  return _mm512_max_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
}

inline __m512 max_interleaved_64(__m512 a, __m512 b) {
  const __m512d c = _mm512_castps_pd(a), d = _mm512_castps_pd(b);
  return _mm512_max_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(c, d)),
                       _mm512_castpd_ps(_mm512_unpackhi_pd(c, d)));
}

inline __m512 max_interleaved_128(__m512 a, __m512 b) {
  return _mm512_max_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}

inline __m512 max_quads(const __m512* r) {
  return max_interleaved_64(max_interleaved_32(r[0], r[1]), max_interleaved_32(r[2], r[3]));
}

// Lane i: the largest of the 16 lanes of rows[i].
inline __m512 max_rows(const __m512 (&rows)[16]) {
  const __m512 low = max_interleaved_128(max_quads(rows), max_quads(rows + 4));
  const __m512 high = max_interleaved_128(max_quads(rows + 8), max_quads(rows + 12));
  return max_interleaved_128(low, high);
}

}  // namespace
}  // namespace sotto::avx512
