// More rows, in blocks of seven to thirteen of nearly equal height: all sums of a block and a
// tile stay in registers. A tile's weights come from the cache for every block, and while the
// blocks pass by, the next tile is asked for.
#include <cassert>

#include "kernels/avx512vnni/tile.h"

namespace sotto::avx512vnni {
namespace {

constexpr size_t kMaxBlockRows = 13;

// Rows of activations, one after the other, of which four share a pointer.
template <size_t kRows>
class RowPointers {
 public:
  RowPointers(const int8_t* q, size_t stride) : stride_(stride), three_strides_(3 * stride) {
#pragma GCC unroll 4
    for (size_t i = 0; i < kGroups; ++i) groups_[i] = q + 4 * i * stride;
  }
  const int8_t* operator[](size_t row) const {
    const int8_t* group = groups_[row / 4];
    return row % 4 == 3 ? group + three_strides_ : group + row % 4 * stride_;
  }
  void advance() {
#pragma GCC unroll 4
    for (size_t i = 0; i < kGroups; ++i) {
      groups_[i] += kTileDepth;
      asm("" : "+r"(groups_[i]));  // one register each, not one for every row
    }
  }

 private:
  static constexpr size_t kGroups = (kRows + 3) / 4;
  const int8_t* groups_[kGroups];
  size_t stride_;
  size_t three_strides_;
};

// What is asked for: `step` bytes on for every kTileDepth inputs.
struct Ahead {
  const char* address;
  size_t step;
};

struct Block {
  const int8_t* q;
  const RowQuantization* quantization;
  float* y;
};

template <size_t kRows>
void multiply_block(const TileArgs& args, const Block& block, const uint8_t* tile,
                    __mmask16 columns, Ahead ahead) {
  RowSums sums[kRows];
#pragma GCC unroll 13
  for (size_t r = 0; r < kRows; ++r) sums[r].low = sums[r].high = _mm512_setzero_si512();
  const uint8_t* weights = tile + sizeof(__m512i);
  RowPointers<kRows> rows(block.q, args.inputs);
  for (size_t k = 0; k < args.inputs; k += kTileDepth, weights += kDepthBytes) {
    _mm_prefetch(ahead.address, _MM_HINT_T1);
    ahead.address += ahead.step;
    const __m512i low_weights = _mm512_load_si512(weights);
    const __m512i high_weights = _mm512_load_si512(weights + kHalfBytes);
#pragma GCC unroll 13
    for (size_t r = 0; r < kRows; ++r) {
      const __m512i a = broadcast(rows[r]);
      multiply_add(sums[r].low, a, low_weights);
      multiply_add(sums[r].high, a, high_weights);
    }
    rows.advance();
  }
  const TileFrame frame(tile, weights);
#pragma GCC unroll 13
  for (size_t r = 0; r < kRows; ++r) {
    _mm512_mask_storeu_ps(block.y + r * args.outputs, columns,
                          frame.finish(sums[r], block.quantization[r]));
  }
}

using BlockFunction = void (*)(const TileArgs& args, const Block& block, const uint8_t* tile,
                               __mmask16 columns, Ahead ahead);

BlockFunction block_function(size_t rows) {
  switch (rows) {
    case 7: return multiply_block<7>;
    case 8: return multiply_block<8>;
    case 9: return multiply_block<9>;
    case 10: return multiply_block<10>;
    case 11: return multiply_block<11>;
    case 12: return multiply_block<12>;
    case 13: return multiply_block<13>;
    default: assert(false); return nullptr;
  }
}

}  // namespace

// 128 added: unsigned.
void prepare_large_batch(const TileArgs& args) {
  const __m512i sign = _mm512_set1_epi8(-128);
  const size_t size = args.rows * args.inputs;
  size_t i = 0;
  for (; i + sizeof(__m512i) <= size; i += sizeof(__m512i)) {
    _mm512_storeu_si512(args.q + i, _mm512_xor_si512(_mm512_loadu_si512(args.q + i), sign));
  }
  for (; i < size; ++i) args.q[i] = static_cast<int8_t>(args.q[i] ^ -128);
}

void multiply_large_batch(const TileArgs& args, size_t first_tile, size_t tile_count) {
  assert(args.rows > kSmallBatchRows);
  const FlushDenormals flush;
  const size_t depths = depth_count(args.inputs);
  const size_t size = tile_size(args.inputs);
  const size_t block_count = (args.rows + kMaxBlockRows - 1) / kMaxBlockRows;
  const size_t step = (size + block_count * depths - 1) / (block_count * depths);
  const auto* packed = static_cast<const uint8_t*>(args.packed) + first_tile * size;
  for (size_t tile = first_tile; tile < first_tile + tile_count; ++tile, packed += size) {
    Block block = {args.q, args.quantization, args.y + tile * kTileColumns};
    Ahead ahead = {reinterpret_cast<const char*>(packed + size), step};
    size_t rows_left = args.rows;
    for (size_t blocks_left = block_count; blocks_left > 0; --blocks_left) {
      const size_t rows = (rows_left + blocks_left - 1) / blocks_left;
      block_function(rows)(args, block, packed, columns_of(args, tile), ahead);
      block = {block.q + rows * args.inputs, block.quantization + rows,
               block.y + rows * args.outputs};
      ahead.address += step * depths;
      rows_left -= rows;
    }
  }
}

}  // namespace sotto::avx512vnni
