// More rows, in blocks of seven to thirteen of nearly equal height: all sums of a block and a
// tile stay in registers. A block's activations lie one after the other in the order of their
// use. A tile's weights come from the cache for every block, and while the blocks pass by, the
// next tile is asked for.
#include <cassert>

#include "kernels/linear/row_blocks.h"
#include "kernels/x86/avx512vnni/tile.h"

namespace sotto::avx512vnni {
namespace {

constexpr size_t kMaxBlockRows = 13;
constexpr size_t kGroupDepths = sizeof(__m512i) / kTileDepth;

size_t padded(size_t inputs) { return depth_count(inputs) * kTileDepth; }

// What is asked for: `step` bytes on for every kTileDepth inputs.
struct Ahead {
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
                                             size_t row_stride, Ahead* ahead) {
  _mm_prefetch(ahead->address, _MM_HINT_T1);
  ahead->address += ahead->step;
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
void multiply_block(const TileArgs& args, const Block& block, const uint8_t* tile, __mmask16 columns, Ahead ahead) {
  RowSums sums[kRows];
#pragma GCC unroll 13
  for (size_t r = 0; r < kRows; ++r) sums[r].low = sums[r].high = _mm512_setzero_si512();
  const uint8_t* weights = tile + sizeof(__m512i);
  const int8_t* q = block.q;
  const size_t depths = depth_count(args.inputs);
  for (size_t group = 0; group < depths / kGroupDepths; ++group) {
    // The rows to write to one by one: all at once, they would hold up what is read.
    if (group < kRows) {
      _mm_prefetch(reinterpret_cast<const char*>(block.y + group * args.outputs), _MM_HINT_T0);
    }
#pragma GCC unroll 8
    for (size_t d = 0; d < kGroupDepths; ++d) {
      add_depth(sums, weights + d * kDepthBytes, q + d * kTileDepth, sizeof(__m512i), &ahead);
    }
    weights += kGroupDepths * kDepthBytes;
    q += kRows * sizeof(__m512i);
  }
  const size_t rest = depths % kGroupDepths;
  for (size_t d = 0; d < rest; ++d, weights += kDepthBytes, q += kTileDepth) {
    add_depth(sums, weights, q, rest * kTileDepth, &ahead);
  }
  const TileFrame frame(tile, weights);
#pragma GCC unroll 13
  for (size_t r = 0; r < kRows; ++r) {
    _mm512_mask_storeu_ps(block.y + r * args.outputs, columns,
                          frame.finish(sums_of_columns(sums[r]), block.quantization[r]));
  }
}

using BlockFunction = void (*)(const TileArgs& args, const Block& block, const uint8_t* tile, __mmask16 columns,
                               Ahead ahead);

BlockFunction block_function(size_t rows) {
  switch (rows) {
    case 7:
      return multiply_block<7>;
    case 8:
      return multiply_block<8>;
    case 9:
      return multiply_block<9>;
    case 10:
      return multiply_block<10>;
    case 11:
      return multiply_block<11>;
    case 12:
      return multiply_block<12>;
    case 13:
      return multiply_block<13>;
    default:
      assert(false);
      return nullptr;
  }
}

}  // namespace

// As Block::q says, with 128 added: unsigned.
void prepare_large_batch(const TileArgs& args) {
  const __m512i sign = _mm512_set1_epi8(-128);
  const int8_t* from = args.q;
  int8_t* to = args.ordered;
  for (RowBlocks blocks(args.rows, kMaxBlockRows); blocks.left() > 0; blocks.next()) {
    for (size_t i = 0; i < args.inputs; i += sizeof(__m512i)) {
      const size_t width = args.inputs - i < sizeof(__m512i) ? args.inputs - i : sizeof(__m512i);
      const size_t stride = padded(width);
      const __mmask64 inputs = ~__mmask64{0} >> (sizeof(__m512i) - width);
      const __mmask64 depths = ~__mmask64{0} >> (sizeof(__m512i) - stride);
      for (size_t r = 0; r < blocks.height(); ++r, to += stride) {
        const __m512i a = _mm512_maskz_loadu_epi8(inputs, from + r * args.inputs + i);
        _mm512_mask_storeu_epi8(to, depths, _mm512_xor_si512(a, sign));
      }
    }
    from += blocks.height() * args.inputs;
  }
}

void multiply_large_batch(const TileArgs& args, size_t first_tile, size_t tile_count) {
  assert(args.rows > kSmallBatchRows);
  const FlushDenormals flush;
  const size_t depths = depth_count(args.inputs);
  const size_t size = tile_size(args.inputs);
  const size_t all_depths = RowBlocks(args.rows, kMaxBlockRows).left() * depths;
  const size_t step = (size + all_depths - 1) / all_depths;
  const auto* packed = static_cast<const uint8_t*>(args.packed) + first_tile * size;
  for (size_t tile = first_tile; tile < first_tile + tile_count; ++tile, packed += size) {
    Block block = {args.ordered, args.quantization, args.y + tile * kTileColumns};
    Ahead ahead = {reinterpret_cast<const char*>(packed + size), step};
    for (RowBlocks blocks(args.rows, kMaxBlockRows); blocks.left() > 0; blocks.next()) {
      const size_t rows = blocks.height();
      block_function(rows)(args, block, packed, columns_of(args, tile), ahead);
      block = {block.q + rows * padded(args.inputs), block.quantization + rows, block.y + rows * args.outputs};
      ahead.address += step * depths;
    }
  }
}

}  // namespace sotto::avx512vnni
