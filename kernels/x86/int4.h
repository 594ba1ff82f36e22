// What x86's instruction sets do alike with 4-bit weights. Unnamed namespace: see
// kernels/generic/vector.h.
#pragma once

#include <immintrin.h>

#include "kernels/linear/int4.h"

namespace sotto::avx2 {
namespace {

// -7 times the sum of 32 activations, in two int16: the first and the last two of every four.
inline __m128i start_halves(const int8_t* q) {
  const __m256i pairs =
      _mm256_maddubs_epi16(_mm256_set1_epi8(1), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q)));
  __m128i sum = _mm_add_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
  sum = _mm_add_epi16(sum, _mm_shuffle_epi32(sum, 0x4e));
  sum = _mm_add_epi16(sum, _mm_shuffle_epi32(sum, 0xb1));
  return _mm_mullo_epi16(sum, _mm_set1_epi16(-kInt4Zero));
}

// Asks for what most likely comes two pages on: hardware looks no further than a page's end.
inline void prefetch_block(const uint8_t* nibbles) {
  constexpr size_t kAhead = 8192;
#pragma GCC unroll 4
  for (size_t i = 0; i < 4; ++i) {
    _mm_prefetch(reinterpret_cast<const char*>(nibbles) + kAhead + i * kInt4ChunkBytes, _MM_HINT_T0);
  }
}

}  // namespace
}  // namespace sotto::avx2
