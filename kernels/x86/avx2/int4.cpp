// 4-bit linear layers with vpmaddubsw, whose sums of pairs fit 16 bits over a whole block. The dot product of an output
// consists of two int16, and vpmaddwd multiplies both by the scale of the block.
#include <immintrin.h>

#include "kernels/dispatch/tables.h"
#include "kernels/generic/int4.h"
#include "kernels/x86/int4.h"

namespace sotto::avx2 {
namespace {

struct Int4Vector {
  static constexpr size_t kColumns = 8;
  static constexpr size_t kMaxRows = 4;
  static constexpr size_t kMaxRowsOfWholeTile = 2;
  using Sums = __m256i;

  struct Weights {
    __m256i bytes[8];  // four inputs per register

    explicit Weights(const uint8_t* nibbles) {
      const __m256i low = _mm256_set1_epi8(15);
#pragma GCC unroll 4
      for (size_t i = 0; i < 4; ++i) {
        const __m256i both = _mm256_load_si256(reinterpret_cast<const __m256i*>(nibbles + i * kInt4ChunkBytes));
        bytes[2 * i] = _mm256_and_si256(both, low);
        bytes[2 * i + 1] = _mm256_and_si256(_mm256_srli_epi16(both, 4), low);
      }
    }
  };

  // Each scale is stored twice, once for each int16 of an output.
  struct Scales {
    __m256i values;
    explicit Scales(const int8_t* bytes) {
      const __m256i wide = _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)));
      values = _mm256_blend_epi16(wide, _mm256_slli_epi32(wide, 16), 0xaa);
    }
  };

  static int32_t start(const int8_t* q) { return _mm_cvtsi128_si32(start_halves(q)); }
  static void prefetch(const uint8_t* nibbles) { prefetch_block(nibbles); }

  static void add_block(Sums& sums, const Weights& weights, const Scales& scales, const int8_t* q,
                        const int32_t* start) {
    __m256i dots = _mm256_set1_epi32(*start);
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; ++i) {
      int32_t activations;
      std::memcpy(&activations, q + 4 * i, sizeof activations);
      dots = _mm256_add_epi16(dots, _mm256_maddubs_epi16(weights.bytes[i], _mm256_set1_epi32(activations)));
    }
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(dots, scales.values));
  }

  static void finish(Sums sums, const Int4Frame& frame, size_t column, const RowQuantization& quantization, float* y) {
    const __m256i shift = _mm256_mullo_epi32(_mm256_set1_epi32(quantization.zero_point),
                                             _mm256_load_si256(reinterpret_cast<const __m256i*>(frame.sums + column)));
    const __m256 scaled =
        _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(sums, shift)), _mm256_set1_ps(quantization.scale));
    _mm256_storeu_ps(
        y, _mm256_fmadd_ps(scaled, _mm256_load_ps(frame.scales + column), _mm256_load_ps(frame.biases + column)));
  }
};

}  // namespace

constinit const MatrixKernels kInt4 = generic::make_int4_kernels<Int4Vector>();

}  // namespace sotto::avx2
