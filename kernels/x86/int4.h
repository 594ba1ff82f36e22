// Helpers of the 4-bit kernels of all x86 instruction sets. kernels/generic/vector.h explains the unnamed namespace.
#pragma once

#include <immintrin.h>

#include "kernels/linear/int4.h"

namespace sotto::SOTTO_ISA {
namespace {

// Returns -7 times the sum of 32 activations as two int16: one for the first two of every four inputs, and one for the
// last two.
inline __m128i start_halves(const int8_t* q) {
  const __m256i pairs =
      _mm256_maddubs_epi16(_mm256_set1_epi8(1), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q)));
  __m128i sum = _mm_add_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
  sum = _mm_add_epi16(sum, _mm_shuffle_epi32(sum, 0x4e));
  sum = _mm_add_epi16(sum, _mm_shuffle_epi32(sum, 0xb1));
  return _mm_mullo_epi16(sum, _mm_set1_epi16(-kInt4Zero));
}

// Prefetches the block that begins kPrefetchDistance after this one.
inline void prefetch_block(const uint8_t* nibbles) {
#pragma GCC unroll 4
  for (size_t i = 0; i < 4; ++i) {
    _mm_prefetch(reinterpret_cast<const char*>(nibbles) + kPrefetchDistance + i * kInt4ChunkBytes, _MM_HINT_T0);
  }
}

}  // namespace
}  // namespace sotto::SOTTO_ISA
