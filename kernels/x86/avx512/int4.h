// Code that the 4-bit linear layers of all AVX-512 instruction sets share: the weights, and the outputs from the sums.
// kernels/generic/vector.h explains the unnamed namespace.
#pragma once

#include <immintrin.h>

#include "kernels/generic/int4.h"
#include "kernels/x86/avx512/columns.h"
#include "kernels/x86/int4.h"

namespace sotto::SOTTO_ISA {
namespace {

// Converts the sums of a row for all columns of a tile to outputs.
inline __m512 outputs_of(__m512i sums, const Int4Frame& frame, const RowQuantization& quantization) {
  const __m512i shift = _mm512_mullo_epi32(_mm512_set1_epi32(quantization.zero_point), _mm512_load_si512(frame.sums));
  const __m512 scaled =
      _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(sums, shift)), _mm512_set1_ps(quantization.scale));
  return _mm512_fmadd_ps(scaled, _mm512_load_ps(frame.scales), _mm512_load_ps(frame.biases));
}

struct Int4Registers {
  static constexpr size_t kColumns = 16;
  using Sums = __m512i;

  struct Weights {
    __m512i bytes[8];  // four inputs per register

    explicit Weights(const uint8_t* nibbles) {
      const __m512i low = _mm512_set1_epi8(15);
#pragma GCC unroll 4
      for (size_t i = 0; i < 4; ++i) {
        const __m512i both = _mm512_load_si512(nibbles + i * kInt4ChunkBytes);
        bytes[2 * i] = _mm512_and_si512(both, low);
        bytes[2 * i + 1] = _mm512_and_si512(_mm512_srli_epi16(both, 4), low);
      }
    }
  };

  static void prefetch(const uint8_t* nibbles) { prefetch_block(nibbles); }

  static void finish(Sums sums, const Int4Frame& frame, size_t /*column*/, const RowQuantization& quantization,
                     float* y) {
    _mm512_storeu_ps(y, outputs_of(sums, frame, quantization));
  }
};

}  // namespace
}  // namespace sotto::SOTTO_ISA
