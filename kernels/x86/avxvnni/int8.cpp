// Int8 linear layers with the 256-bit form of vpdpbusd. It multiplies unsigned with signed bytes, so 128 is added to
// the activations, and the packed sums of the columns correct the result for that and for the zero point.
#include <immintrin.h>

#include <cstring>

#include "kernels/dispatch/tables.h"
#include "kernels/generic/int8.h"
#include "kernels/x86/avx2/tile_frame.h"
#include "kernels/x86/flush_denormals.h"

namespace sotto::avxvnni {
namespace {

struct Int8Vector {
  static constexpr size_t kColumns = TileFrame::kColumns;
  static constexpr size_t kTileVectors = 2;
  static constexpr size_t kMaxRows = 6;
  static constexpr size_t pass_vectors(size_t) { return kTileVectors; }
  static constexpr size_t kDepthsAtOnce = 64;
  using FloatMode = FlushDenormals;
  using Activation = uint8_t;
  using Ints = __m256i;

  static void order(const int8_t* from, uint8_t* to) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_xor_si128(bytes, _mm_set1_epi8(-128)));
  }

  static Ints zero() { return _mm256_setzero_si256(); }
  static Ints add(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
  static Ints weights(const uint8_t* from) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(from)); }
  static Ints broadcast(const uint8_t* q) {
    int64_t bytes;
    std::memcpy(&bytes, q, sizeof bytes);
    return _mm256_set1_epi64x(bytes);
  }
  static void multiply_add(Ints& sums, Ints activations, Ints weights) {
    asm volatile("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(activations), "x"(weights));
  }

  using Frame = TileFrame;
  // Converts sums to outputs. Two adjacent parts contain the sum of a column.
  static __m256 finish(const Ints (&sums)[kTileVectors], const Frame& frame, const RowQuantization& quantization) {
    const __m256i columns = _mm256_permute4x64_epi64(_mm256_hadd_epi32(sums[0], sums[1]), _MM_SHUFFLE(3, 1, 2, 0));
    return frame.finish(columns, 128, quantization);
  }
  static void store(float* y, size_t columns, __m256 values) { store_columns(y, columns, values); }
};

using Tiles = generic::Int8Tiles<Int8Vector>;

}  // namespace

constinit const MatrixKernels kInt8 = {
    &kTilesOf8,
    {Tiles::prepare, Tiles::multiply, 16},
    {Tiles::prepare, Tiles::multiply, 16},
};

}  // namespace sotto::avxvnni
