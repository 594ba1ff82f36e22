// One to twelve rows: one pass over the weights, which are asked for two pages ahead: hardware
// looks no further than the end of a page.
#include <cassert>

#include "kernels/x86/avx512vnni/tile.h"

namespace sotto::avx512vnni {
namespace {

constexpr size_t kPrefetchBytes = 8192;

template <size_t kRows>
void multiply_tile(const TileArgs& args, const uint8_t* tile, float* y, __mmask16 columns) {
  RowSums sums[kRows];
#pragma GCC unroll 12
  for (size_t r = 0; r < kRows; ++r) sums[r].low = sums[r].high = _mm512_setzero_si512();
  const __m512i sign = _mm512_set1_epi8(-128);
  const uint8_t* weights = tile + sizeof(__m512i);
  for (size_t k = 0; k < args.inputs; k += kTileDepth, weights += kDepthBytes) {
    const __m512i low_weights = _mm512_load_si512(weights);
    const __m512i high_weights = _mm512_load_si512(weights + kHalfBytes);
    _mm_prefetch(reinterpret_cast<const char*>(weights) + kPrefetchBytes, _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(weights) + kPrefetchBytes + 64, _MM_HINT_T0);
#pragma GCC unroll 12
    for (size_t r = 0; r < kRows; ++r) {
      const __m512i a = _mm512_xor_si512(broadcast(args.q + r * args.inputs + k), sign);
      multiply_add(sums[r].low, a, low_weights);
      multiply_add(sums[r].high, a, high_weights);
    }
  }
  const TileFrame frame(tile, weights);
#pragma GCC unroll 12
  for (size_t r = 0; r < kRows; ++r) {
    _mm512_mask_storeu_ps(y + r * args.outputs, columns, frame.finish(sums_of_columns(sums[r]), args.quantization[r]));
  }
}

template <size_t kRows>
void multiply_tiles(const TileArgs& args, size_t first_tile, size_t tile_count) {
  const size_t size = tile_size(args.inputs);
  const auto* packed = static_cast<const uint8_t*>(args.packed) + first_tile * size;
  for (size_t tile = first_tile; tile < first_tile + tile_count; ++tile, packed += size) {
    multiply_tile<kRows>(args, packed, args.y + tile * kTileColumns, columns_of(args, tile));
  }
}

}  // namespace

void multiply_small_batch(const TileArgs& args, size_t first_tile, size_t tile_count) {
  const FlushDenormals flush;
  switch (args.rows) {
    case 1:
      return multiply_tiles<1>(args, first_tile, tile_count);
    case 2:
      return multiply_tiles<2>(args, first_tile, tile_count);
    case 3:
      return multiply_tiles<3>(args, first_tile, tile_count);
    case 4:
      return multiply_tiles<4>(args, first_tile, tile_count);
    case 5:
      return multiply_tiles<5>(args, first_tile, tile_count);
    case 6:
      return multiply_tiles<6>(args, first_tile, tile_count);
    case 7:
      return multiply_tiles<7>(args, first_tile, tile_count);
    case 8:
      return multiply_tiles<8>(args, first_tile, tile_count);
    case 9:
      return multiply_tiles<9>(args, first_tile, tile_count);
    case 10:
      return multiply_tiles<10>(args, first_tile, tile_count);
    case 11:
      return multiply_tiles<11>(args, first_tile, tile_count);
    case 12:
      return multiply_tiles<12>(args, first_tile, tile_count);
    default:
      assert(false);
  }
}

constinit const TileKernels kTileKernels = {
    kTileColumns, {nullptr, multiply_small_batch, 8}, {prepare_large_batch, multiply_large_batch, 4}};

}  // namespace sotto::avx512vnni
