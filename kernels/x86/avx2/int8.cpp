// Int8 linear layers that widen int8 to int16 and multiply with vpmaddwd, because vpmaddubsw would saturate.
#include <immintrin.h>

#include "kernels/dispatch/tables.h"
#include "kernels/generic/int8.h"
#include "kernels/x86/avx2/tile_frame.h"
#include "kernels/x86/flush_denormals.h"

namespace sotto::avx2 {
namespace {

struct Int8Vector {
  static constexpr size_t kColumns = TileFrame::kColumns;
  static constexpr size_t kTileVectors = 4;
  static constexpr size_t kMaxRows = 6;
  static constexpr size_t pass_vectors(size_t rows) { return rows <= 2 ? 4 : 2; }
  static constexpr size_t kDepthsAtOnce = 64;
  using FloatMode = FlushDenormals;
  using Activation = int16_t;
  using Ints = __m256i;

  static void order(const int8_t* from, int16_t* to) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    _mm_store_si128(reinterpret_cast<__m128i*>(to), _mm_cvtepi8_epi16(bytes));
  }

  static Ints zero() { return _mm256_setzero_si256(); }
  static Ints add(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
  static Ints weights(const uint8_t* from) {
    return _mm256_cvtepi8_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static Ints broadcast(const int16_t* q) {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(q)));
  }
  // Multiplies pairs of int16 and adds them to the sums. Written in assembly, because GCC 12 reorders the intrinsics
  // until the sums no longer fit the registers.
  static void multiply_add(Ints& sums, Ints activations, Ints weights) {
    Ints products;
    asm volatile("vpmaddwd %2, %1, %0" : "=x"(products) : "x"(activations), "x"(weights));
    asm volatile("vpaddd %1, %0, %0" : "+x"(sums) : "x"(products));
  }

  using Frame = TileFrame;
  // Converts sums to outputs. Each half of a vector of sums belongs to one column.
  static __m256 finish(const Ints (&sums)[kTileVectors], const Frame& frame, const RowQuantization& quantization) {
    const __m256i low = _mm256_hadd_epi32(sums[0], sums[1]);
    const __m256i high = _mm256_hadd_epi32(sums[2], sums[3]);
    const __m256i columns =
        _mm256_permutevar8x32_epi32(_mm256_hadd_epi32(low, high), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    return frame.finish(columns, 0, quantization);
  }
  static void store(float* y, size_t columns, __m256 values) { store_columns(y, columns, values); }
};

using Tiles = generic::Int8Tiles<Int8Vector>;

}  // namespace

constinit const MatrixKernels kInt8 = {
    &kTilesOf8,
    {Tiles::prepare, Tiles::multiply, 16},
    {Tiles::prepare, Tiles::multiply, 16, 2},
};

}  // namespace sotto::avx2
