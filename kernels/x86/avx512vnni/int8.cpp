// Int8 linear layers with vpdpbusd.
//
// A batch of up to twelve rows takes one pass over the weights, prefetched two pages ahead. More rows are divided into
// blocks of seven to thirteen rows, of nearly equal height. All sums of a block and a tile stay in registers, and the
// activations of a block are stored in the order of use. Every block reads the weights of the tile from the cache,
// while the next tile is prefetched.
#include <cassert>

#include "kernels/dispatch/tables.h"
#include "kernels/generic/with_rows.h"
#include "kernels/linear/row_blocks.h"
#include "kernels/x86/avx512/columns.h"
#include "kernels/x86/avx512vnni/int8.h"
#include "kernels/x86/flush_denormals.h"

namespace sotto::avx512vnni {
namespace {

template <size_t kRows>
void multiply_tile(const LinearArgs& args, const uint8_t* tile, float* y, __mmask16 columns) {
  RowSums sums[kRows];
#pragma GCC unroll 12
  for (size_t r = 0; r < kRows; ++r) sums[r].low = sums[r].high = _mm512_setzero_si512();
  const __m512i sign = _mm512_set1_epi8(-128);
  const uint8_t* weights = tile + sizeof(__m512i);
  for (size_t k = 0; k < args.inputs; k += kTileDepth, weights += kDepthBytes) {
    const __m512i low_weights = _mm512_load_si512(weights);
    const __m512i high_weights = _mm512_load_si512(weights + kHalfBytes);
    _mm_prefetch(reinterpret_cast<const char*>(weights) + kPrefetchDistance, _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(weights) + kPrefetchDistance + 64, _MM_HINT_T0);
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
void multiply_tiles(const LinearArgs& args, size_t first_tile, size_t tile_count) {
  const size_t size = tile_size(args.inputs);
  const auto* packed = args.weights + first_tile * size;
  for (size_t tile = first_tile; tile < first_tile + tile_count; ++tile, packed += size) {
    multiply_tile<kRows>(args, packed, args.y + tile * kTileColumns, columns_of(args, tile));
  }
}

}  // namespace

void multiply_small_batch(const LinearArgs& args, size_t first_tile, size_t tile_count) {
  const FlushDenormals flush;
  generic::with_rows<1, kSmallBatchRows>(args.rows,
                                         [&](auto rows) { multiply_tiles<rows>(args, first_tile, tile_count); });
}

namespace {

constexpr size_t kMinBlockRows = 7;  // more than kSmallBatchRows rows are divided into blocks of at least this height
constexpr size_t kMaxBlockRows = 13;
constexpr size_t kGroupDepths = sizeof(__m512i) / kTileDepth;

size_t padded(size_t inputs) { return depth_count(inputs) * kTileDepth; }

// Prefetches one cache line per depth, `step` bytes after the last one.
struct Prefetcher {
  const char* address;
  size_t step;
};

struct Block {
  const int8_t* q;  // (group of depths, row, depth of the group)
  const RowQuantization* quantization;
  float* y;
};

template <size_t kRows>
[[gnu::always_inline]] inline void add_depth(RowSums (&sums)[kRows], const uint8_t* weights, const int8_t* q,
                                             size_t row_stride, Prefetcher* prefetcher) {
  _mm_prefetch(prefetcher->address, _MM_HINT_T1);
  prefetcher->address += prefetcher->step;
  const __m512i low_weights = _mm512_load_si512(weights);
  const __m512i high_weights = _mm512_load_si512(weights + kHalfBytes);
#pragma GCC unroll 13
  for (size_t r = 0; r < kRows; ++r) {
    const __m512i a = broadcast(q + r * row_stride);
    multiply_add(sums[r].low, a, low_weights);
    multiply_add(sums[r].high, a, high_weights);
  }
}

template <size_t kRows>
void multiply_block(const LinearArgs& args, const Block& block, const uint8_t* tile, __mmask16 columns,
                    Prefetcher prefetcher) {
  RowSums sums[kRows];
#pragma GCC unroll 13
  for (size_t r = 0; r < kRows; ++r) sums[r].low = sums[r].high = _mm512_setzero_si512();
  const uint8_t* weights = tile + sizeof(__m512i);
  const int8_t* q = block.q;
  const size_t depths = depth_count(args.inputs);
  for (size_t group = 0; group < depths / kGroupDepths; ++group) {
    // Rows of outputs are prefetched one at a time, because prefetching all of them together would delay the loads.
    if (group < kRows) {
      _mm_prefetch(reinterpret_cast<const char*>(block.y + group * args.outputs), _MM_HINT_T0);
    }
#pragma GCC unroll 8
    for (size_t d = 0; d < kGroupDepths; ++d) {
      add_depth(sums, weights + d * kDepthBytes, q + d * kTileDepth, sizeof(__m512i), &prefetcher);
    }
    weights += kGroupDepths * kDepthBytes;
    q += kRows * sizeof(__m512i);
  }
  const size_t rest = depths % kGroupDepths;
  for (size_t d = 0; d < rest; ++d, weights += kDepthBytes, q += kTileDepth) {
    add_depth(sums, weights, q, rest * kTileDepth, &prefetcher);
  }
  const TileFrame frame(tile, weights);
#pragma GCC unroll 13
  for (size_t r = 0; r < kRows; ++r) {
    _mm512_mask_storeu_ps(block.y + r * args.outputs, columns,
                          frame.finish(sums_of_columns(sums[r]), block.quantization[r]));
  }
}

// Reorders activations as Block::q describes, with 128 added to make them unsigned.
void prepare_large_batch(const LinearArgs& args, size_t /*group*/) {
  const __m512i sign = _mm512_set1_epi8(-128);
  const int8_t* from = args.q;
  int8_t* to = args.scratch;
  for (const RowBlock block : RowBlocks(args.rows, kMaxBlockRows)) {
    for (size_t i = 0; i < args.inputs; i += sizeof(__m512i)) {
      const size_t width = args.inputs - i < sizeof(__m512i) ? args.inputs - i : sizeof(__m512i);
      const size_t stride = padded(width);
      const __mmask64 inputs = ~__mmask64{0} >> (sizeof(__m512i) - width);
      const __mmask64 depths = ~__mmask64{0} >> (sizeof(__m512i) - stride);
      for (size_t r = 0; r < block.count; ++r, to += stride) {
        const __m512i a = _mm512_maskz_loadu_epi8(inputs, from + r * args.inputs + i);
        _mm512_mask_storeu_epi8(to, depths, _mm512_xor_si512(a, sign));
      }
    }
    from += block.count * args.inputs;
  }
}

void multiply_large_batch(const LinearArgs& args, size_t first_tile, size_t tile_count) {
  assert(args.rows > kSmallBatchRows);
  const FlushDenormals flush;
  const size_t depths = depth_count(args.inputs);
  const size_t size = tile_size(args.inputs);
  const RowBlocks blocks(args.rows, kMaxBlockRows);
  const size_t all_depths = blocks.count() * depths;
  const size_t step = divide_up(size, all_depths);
  const auto* packed = args.weights + first_tile * size;
  for (size_t tile = first_tile; tile < first_tile + tile_count; ++tile, packed += size) {
    Prefetcher prefetcher = {reinterpret_cast<const char*>(packed + size), step};
    for (const RowBlock rows : blocks) {
      const Block block = {args.scratch + rows.first * padded(args.inputs), args.quantization + rows.first,
                           args.y + rows.first * args.outputs + tile * kTileColumns};
      generic::with_rows<kMinBlockRows, kMaxBlockRows>(rows.count, [&](auto count) {
        multiply_block<count>(args, block, packed, columns_of(args, tile), prefetcher);
      });
      prefetcher.address += step * depths;
    }
  }
}

}  // namespace

constinit const MatrixKernels kInt8 = {
    &kTilesOf16, {nullptr, multiply_small_batch, 8}, {prepare_large_batch, multiply_large_batch, 4}};

}  // namespace sotto::avx512vnni
