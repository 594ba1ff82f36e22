// Two to eight rows against tiles of 16 columns with vpdpbusd, which multiplies unsigned by
// signed: activations go in with 128 added, and the packed sums of the columns take that off
// again together with the zero point.
#include "kernels/small_batch.h"

#include <immintrin.h>

#include <cassert>
#include <cstring>

namespace sotto::avx512vnni {
namespace {

// Denormals are zero while it lives, as in XNNPACK.
class FlushDenormals {
 public:
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~FlushDenormals() { _mm_setcsr(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned before_;
};

constexpr size_t kDepthBytes = size_t{kTileColumns} * kTileDepth;
constexpr size_t kFrameBytes = kTileColumns * (sizeof(int32_t) + 2 * sizeof(float));
constexpr size_t kPrefetchBytes = 1024;

// Eight activations, 128 added, in every column.
inline __m512i broadcast(const int8_t* q) {
  int64_t bytes;
  std::memcpy(&bytes, q, sizeof bytes);
  return _mm512_xor_si512(_mm512_set1_epi64(bytes), _mm512_set1_epi8(-128));
}

// One tile. A column's sum comes in two halves, side by side.
template <size_t kRows>
void multiply_tile(const SmallBatchArgs& args, const uint8_t* packed, float* y, __mmask16 columns) {
  __m512i low[kRows], high[kRows];
#pragma GCC unroll 8
  for (size_t r = 0; r < kRows; ++r) low[r] = high[r] = _mm512_setzero_si512();
  const __m512i minus_sums = _mm512_load_si512(packed);
  packed += sizeof(__m512i);
  for (size_t k = 0; k < args.inputs; k += kTileDepth, packed += kDepthBytes) {
    const __m512i low_weights = _mm512_load_si512(packed);
    const __m512i high_weights = _mm512_load_si512(packed + sizeof(__m512i));
    _mm_prefetch(reinterpret_cast<const char*>(packed) + kPrefetchBytes, _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(packed) + kPrefetchBytes + 64, _MM_HINT_T0);
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) {
      const __m512i a = broadcast(args.q + r * args.inputs + k);
      low[r] = _mm512_dpbusd_epi32(low[r], a, low_weights);
      high[r] = _mm512_dpbusd_epi32(high[r], a, high_weights);
    }
  }
  const __m512 scales = _mm512_load_ps(reinterpret_cast<const float*>(packed));
  const __m512 biases = _mm512_load_ps(reinterpret_cast<const float*>(packed) + kTileColumns);
  const __m512i even =
      _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
#pragma GCC unroll 8
  for (size_t r = 0; r < kRows; ++r) {
    const __m512i low_sums = _mm512_add_epi32(low[r], _mm512_srli_epi64(low[r], 32));
    const __m512i high_sums = _mm512_add_epi32(high[r], _mm512_srli_epi64(high[r], 32));
    const __m512i offset = _mm512_set1_epi32(args.quantization[r].zero_point + 128);
    const __m512i sums = _mm512_add_epi32(_mm512_permutex2var_epi32(low_sums, even, high_sums),
                                          _mm512_mullo_epi32(minus_sums, offset));
    const __m512 scaled =
        _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_set1_ps(args.quantization[r].scale));
    _mm512_mask_storeu_ps(y + r * args.outputs, columns,
                          _mm512_fmadd_ps(scaled, scales, biases));
  }
}

template <size_t kRows>
void multiply_tiles(const SmallBatchArgs& args, size_t first_tile, size_t tile_count) {
  const size_t depths = (args.inputs + kTileDepth - 1) / kTileDepth;
  const size_t tile_size = kFrameBytes + depths * kDepthBytes;
  const auto* packed = static_cast<const uint8_t*>(args.packed) + first_tile * tile_size;
  for (size_t tile = first_tile; tile < first_tile + tile_count; ++tile, packed += tile_size) {
    const size_t column = tile * kTileColumns;
    const size_t rest = args.outputs - column;
    const auto mask = static_cast<__mmask16>(rest >= kTileColumns ? 0xffff : (1u << rest) - 1);
    multiply_tile<kRows>(args, packed, args.y + column, mask);
  }
}

}  // namespace

void multiply_small_batch(const SmallBatchArgs& args, size_t first_tile, size_t tile_count) {
  const FlushDenormals flush;
  switch (args.rows) {
    case 2: return multiply_tiles<2>(args, first_tile, tile_count);
    case 3: return multiply_tiles<3>(args, first_tile, tile_count);
    case 4: return multiply_tiles<4>(args, first_tile, tile_count);
    case 5: return multiply_tiles<5>(args, first_tile, tile_count);
    case 6: return multiply_tiles<6>(args, first_tile, tile_count);
    case 7: return multiply_tiles<7>(args, first_tile, tile_count);
    case 8: return multiply_tiles<8>(args, first_tile, tile_count);
    default: assert(false);
  }
}

}  // namespace sotto::avx512vnni
