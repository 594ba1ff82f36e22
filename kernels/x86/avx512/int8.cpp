// Int8 linear layers that widen int8 to int16 and multiply with vpmaddwd.
#include <immintrin.h>

#include "kernels/dispatch/tables.h"
#include "kernels/generic/int8.h"
#include "kernels/x86/flush_denormals.h"

namespace sotto::avx512 {
namespace {

struct Int8Vector {
  static constexpr size_t kColumns = 16;
  static constexpr size_t kTileVectors = 4;
  static constexpr size_t kMaxRows = 6;
  static constexpr size_t pass_vectors(size_t) { return kTileVectors; }
  static constexpr size_t kDepthsAtOnce = 64;
  using FloatMode = FlushDenormals;
  using Activation = int16_t;
  using Ints = __m512i;

  static void order(const int8_t* from, int16_t* to) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    _mm_store_si128(reinterpret_cast<__m128i*>(to), _mm_cvtepi8_epi16(bytes));
  }

  static Ints zero() { return _mm512_setzero_si512(); }
  static Ints add(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
  static Ints weights(const uint8_t* from) {
    return _mm512_cvtepi8_epi16(_mm256_load_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static Ints broadcast(const int16_t* q) {
    return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(q)));
  }
  // Multiplies pairs of int16 and adds them to the sums. Written in assembly, because GCC 12 reorders the intrinsics
  // until the sums no longer fit the registers.
  static void multiply_add(Ints& sums, Ints activations, Ints weights) {
    Ints products;
    asm volatile("vpmaddwd %2, %1, %0" : "=v"(products) : "v"(activations), "v"(weights));
    asm volatile("vpaddd %1, %0, %0" : "+v"(sums) : "v"(products));
  }

  // The sums, scales and biases of a tile. `end` points to the end of the weights.
  class Frame {
   public:
    Frame(const uint8_t* tile, const uint8_t* end)
        : minus_sums_(_mm512_load_si512(tile)),
          scales_(_mm512_load_ps(reinterpret_cast<const float*>(end))),
          biases_(_mm512_load_ps(reinterpret_cast<const float*>(end) + kColumns)) {}

    __m512 finish(__m512i sums, const RowQuantization& quantization) const {
      const __m512i shift = _mm512_mullo_epi32(minus_sums_, _mm512_set1_epi32(quantization.zero_point));
      const __m512 scaled =
          _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_add_epi32(sums, shift)), _mm512_set1_ps(quantization.scale));
      return _mm512_fmadd_ps(scaled, scales_, biases_);
    }

   private:
    __m512i minus_sums_;
    __m512 scales_;
    __m512 biases_;
  };

  // Returns a0 + a2, b0 + b2, a1 + a3, b1 + b3 in every quarter.
  static __m512i add_pairs(__m512i a, __m512i b) {
    return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
  }

  // Converts sums to outputs. Each quarter of a vector of sums belongs to one column.
  static __m512 finish(const Ints (&sums)[kTileVectors], const Frame& frame, const RowQuantization& quantization) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15);
    const __m512i columns =
        _mm512_permutexvar_epi32(order, add_pairs(add_pairs(sums[0], sums[1]), add_pairs(sums[2], sums[3])));
    return frame.finish(columns, quantization);
  }

  static void store(float* y, size_t columns, __m512 values) {
    const unsigned mask = columns >= kColumns ? 0xffff : (1u << columns) - 1;
    _mm512_mask_storeu_ps(y, static_cast<__mmask16>(mask), values);
  }
};

using Tiles = generic::Int8Tiles<Int8Vector>;

}  // namespace

constinit const MatrixKernels kInt8 = {
    &kTilesOf16,
    {Tiles::prepare, Tiles::multiply, 8},
    {Tiles::prepare, Tiles::multiply, 8, 2},
};

}  // namespace sotto::avx512
