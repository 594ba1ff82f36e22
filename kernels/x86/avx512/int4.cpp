// 4-bit linear layers with the same instructions as kernels/x86/avx2/int4.cpp, in registers of twice the width.
#include <immintrin.h>

#include "kernels/dispatch/tables.h"
#include "kernels/generic/int4.h"
#include "kernels/x86/int4.h"

namespace sotto::avx512 {
namespace {

struct Int4Vector {
  static constexpr size_t kColumns = 16;
  static constexpr size_t kMaxRows = 12;
  static constexpr size_t kMaxRowsOfWholeTile = kMaxRows;
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

  // Each scale is stored twice, once for each int16 of an output.
  struct Scales {
    __m512i values;
    explicit Scales(const int8_t* bytes) {
      const __m512i wide = _mm512_cvtepi8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
      values = _mm512_mask_blend_epi16(0xaaaaaaaa, wide, _mm512_slli_epi32(wide, 16));
    }
  };

  static int32_t start(const int8_t* q) { return _mm_cvtsi128_si32(start_halves(q)); }
  static void prefetch(const uint8_t* nibbles) { prefetch_block(nibbles); }

  static void add_block(Sums& sums, const Weights& weights, const Scales& scales, const int8_t* q,
                        const int32_t* start) {
    __m512i dots = _mm512_set1_epi32(*start);
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; ++i) {
      int32_t activations;
      std::memcpy(&activations, q + 4 * i, sizeof activations);
      dots = _mm512_add_epi16(dots, _mm512_maddubs_epi16(weights.bytes[i], _mm512_set1_epi32(activations)));
    }
    sums = _mm512_add_epi32(sums, _mm512_madd_epi16(dots, scales.values));
  }

  static void finish(Sums sums, const Int4Frame& frame, size_t column, const RowQuantization& quantization, float* y) {
    const __m512i shift =
        _mm512_mullo_epi32(_mm512_set1_epi32(quantization.zero_point), _mm512_load_si512(frame.sums + column));
    const __m512 scaled =
        _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(sums, shift)), _mm512_set1_ps(quantization.scale));
    _mm512_storeu_ps(
        y, _mm512_fmadd_ps(scaled, _mm512_load_ps(frame.scales + column), _mm512_load_ps(frame.biases + column)));
  }
};

}  // namespace

constinit const Int4Kernels kInt4 = generic::make_int4_kernels<Int4Vector>();

}  // namespace sotto::avx512
