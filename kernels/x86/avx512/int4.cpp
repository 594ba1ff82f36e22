// 4-bit linear layers with the same instructions as kernels/x86/avx2/int4.cpp, in registers of twice the width.
#include "kernels/x86/avx512/int4.h"

#include "kernels/dispatch/tables.h"

namespace sotto::avx512 {
namespace {

struct Int4Vector : Int4Registers {
  static constexpr size_t kMaxRows = 12;
  static constexpr size_t kMaxRowsOfWholeTile = kMaxRows;

  // Each scale is stored twice, once for each int16 of an output.
  struct Scales {
    __m512i values;
    explicit Scales(const int8_t* bytes) {
      const __m512i wide = _mm512_cvtepi8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
      values = _mm512_mask_blend_epi16(0xaaaaaaaa, wide, _mm512_slli_epi32(wide, 16));
    }
  };

  static int32_t start(const int8_t* q) { return _mm_cvtsi128_si32(start_halves(q)); }

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
};

}  // namespace

constinit const MatrixKernels kInt4 = generic::make_int4_kernels<Int4Vector>();

}  // namespace sotto::avx512
