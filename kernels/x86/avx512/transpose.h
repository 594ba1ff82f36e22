// A square of 16 by 16 numbers. Unnamed namespace: see kernels/generic/block.h.
#pragma once

#include <immintrin.h>

#include <cstddef>

namespace sotto::avx512 {
namespace {

inline void transpose(__m512i (&rows)[16]) {
  __m512i pairs[16];
#pragma GCC unroll 8
  for (size_t i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  // quads[4 i + j]: within 128 bits k, column 4 k + j of rows 4 i ... 4 i + 3.
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
}  // namespace sotto::avx512
