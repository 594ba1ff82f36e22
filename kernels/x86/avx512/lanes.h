// Operations across the lanes of 16 registers: sums, maxima and a transposition. kernels/generic/vector.h explains the
// unnamed namespace.
#pragma once

#include <immintrin.h>

#include <cstddef>

namespace sotto::SOTTO_ISA {
namespace {

// Combine two registers pairwise by lanes of 32, 64 or 128 bits.
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

// Folds four registers to one. Each of its 128-bit parts is one of the registers, folded to 128 bits.
template <typename Join>
inline __m512i fold_quads(const __m512i* r, Join join) {
  return fold_64(fold_32(r[0], r[1], join), fold_32(r[2], r[3], join), join);
}

// Combines the 16 lanes of rows[i] by `join` in lane i of the result.
template <typename Join>
inline __m512i fold_rows(const __m512i (&rows)[16], Join join) {
  const __m512i low = fold_128(fold_quads(rows, join), fold_quads(rows + 4, join), join);
  const __m512i high = fold_128(fold_quads(rows + 8, join), fold_quads(rows + 12, join), join);
  return fold_128(low, high, join);
}

// Returns, in lane i, the sum of the 16 lanes of rows[i].
inline __m512i sum_rows(const __m512i (&rows)[16]) {
  return fold_rows(rows, [](__m512i a, __m512i b) { return _mm512_add_epi32(a, b); });
}

// Returns, in lane i, the largest of the 16 floats of rows[i].
inline __m512 max_rows(const __m512i (&rows)[16]) {
  return _mm512_castsi512_ps(fold_rows(rows, [](__m512i a, __m512i b) {
    return _mm512_castps_si512(_mm512_max_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
  }));
}

// Transposes a matrix of 16 by 16 numbers.
inline void transpose(__m512i (&rows)[16]) {
  __m512i pairs[16];
#pragma GCC unroll 8
  for (size_t i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  // The 128-bit part k of quads[4 i + j] contains column 4 k + j of rows 4 i ... 4 i + 3.
  __m512i quads[16];
#pragma GCC unroll 4
  for (size_t i = 0; i < 16; i += 4) {
    quads[i] = _mm512_unpacklo_epi64(pairs[i], pairs[i + 2]);
    quads[i + 1] = _mm512_unpackhi_epi64(pairs[i], pairs[i + 2]);
    quads[i + 2] = _mm512_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
    quads[i + 3] = _mm512_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
  }
#pragma GCC unroll 4
  for (size_t j = 0; j < 4; ++j) {
    const __m512i even_low = _mm512_shuffle_i32x4(quads[j], quads[4 + j], 0x88);
    const __m512i even_high = _mm512_shuffle_i32x4(quads[8 + j], quads[12 + j], 0x88);
    const __m512i odd_low = _mm512_shuffle_i32x4(quads[j], quads[4 + j], 0xdd);
    const __m512i odd_high = _mm512_shuffle_i32x4(quads[8 + j], quads[12 + j], 0xdd);
    rows[j] = _mm512_shuffle_i32x4(even_low, even_high, 0x88);
    rows[8 + j] = _mm512_shuffle_i32x4(even_low, even_high, 0xdd);
    rows[4 + j] = _mm512_shuffle_i32x4(odd_low, odd_high, 0x88);
    rows[12 + j] = _mm512_shuffle_i32x4(odd_low, odd_high, 0xdd);
  }
}

}  // namespace
}  // namespace sotto::SOTTO_ISA
