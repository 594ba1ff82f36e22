// 4-bit linear layers with vpdpbusd. The dot product of a block and an output, including its initial value, fits 16
// bits, so vpdpwssd can multiply it by the scale of the block and accumulate the result.
//
// Small batches unpack the nibbles as they multiply them. Larger batches unpack a strip of two tiles at a time, and
// multiply many rows with it: one load of activations then serves both tiles, and the dot products and most of the sums
// of a block of rows stay in registers.
#include "kernels/x86/avx512vnni/int4.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "kernels/dispatch/tables.h"
#include "kernels/generic/with_rows.h"
#include "kernels/linear/row_blocks.h"
#include "kernels/x86/avx512/int4.h"

namespace sotto::avx512vnni {
namespace {

// Each scale is in the low half of an int32 whose high half is zero.
inline __m512i load_scales(const int8_t* bytes) {
  const __m512i wide = _mm512_cvtepi8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
  return _mm512_and_si512(wide, _mm512_set1_epi32(0xffff));
}

// Adds dot products, as int16 in int32, times the scales of their block to the sums.
inline void add_scaled(__m512i& sums, __m512i dots, __m512i scales) {
  asm("vpdpwssd %2, %1, %0" : "+v"(sums) : "v"(dots), "v"(scales));
}

struct Int4Vector : Int4Registers {
  static constexpr size_t kMaxRows = kSmallBatchRows;
  static constexpr size_t kMaxRowsOfWholeTile = kMaxRows;

  struct Scales {
    __m512i values;
    explicit Scales(const int8_t* bytes) : values(load_scales(bytes)) {}
  };

  static int32_t start(const int8_t* q) {
    return _mm_cvtsi128_si32(_mm_madd_epi16(start_halves(q), _mm_set1_epi16(1)));
  }

  static void add_block(Sums& sums, const Weights& weights, const Scales& scales, const int8_t* q,
                        const int32_t* start) {
    __m512i dots = _mm512_set1_epi32(*start);
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; ++i) {
      // Written in assembly, because with the intrinsic the compiler does not broadcast the activations as part of the
      // load.
      asm("vpdpbusd %2%{1to16%}, %1, %0"
          : "+v"(dots)
          : "v"(weights.bytes[i]), "m"(*reinterpret_cast<const int32_t*>(q + 4 * i)));
    }
    add_scaled(sums, dots, scales.values);
  }
};

// Batches of more than kSmallBatchRows rows, divided into blocks of nearly equal height.
namespace int4_large {

// With more than eight rows, too few sums would stay in registers.
constexpr size_t kMinBlockRows = 5;
constexpr size_t kMaxBlockRows = 8;
constexpr size_t kGroupBlocks = 16;  // number of blocks of rows for which a strip is unpacked once
constexpr size_t kStripBlocks = 12;  // a strip stays in the L1 cache
constexpr size_t kPair = 2;          // number of tiles that are multiplied together

struct LargeBatch : Int4Vector {
  static constexpr size_t kMaxRows = kMaxBlockRows;
};

// The weights of a block of inputs and two tiles.
struct BlockWeights {
  __m512i nibbles[kInt4Block / 4][kPair];
  __m512i scales[kPair];
};

// Consecutive blocks of two tiles.
struct Strip {
  const Int4Frame* frames[kPair];
  __mmask16 columns[kPair];  // the columns of the tiles that the layer has
  size_t first;
  size_t count;
  bool is_last;
  BlockWeights weights[kStripBlocks];
};

struct Sums {
  __m512i tiles[kPair];
};

// The operands of a block of rows.
struct Block {
  const int8_t* q;        // (block, row, 32)
  const int32_t* starts;  // (block, row)
  const RowQuantization* quantization;
  float* y;
  Sums* sums;  // of the strips before this one
};

// Prefetches a part of the next two tiles with every block.
struct Prefetcher {
  const uint8_t* address;
  size_t step;

  void prefetch() {
    for (size_t i = 0; i < step; i += 64) _mm_prefetch(reinterpret_cast<const char*>(address) + i, _MM_HINT_T1);
    address += step;
  }
};

// Fills strip->weights.
void unpack(const LinearArgs& args, Strip* strip) {
  for (size_t block = 0; block < strip->count; ++block) {
    BlockWeights& to = strip->weights[block];
    for (size_t t = 0; t < kPair; ++t) {
      const auto* tile = reinterpret_cast<const uint8_t*>(strip->frames[t]);
      const size_t index = strip->first + block;
      const Int4Registers::Weights from(tile + int4_nibbles_offset(args.inputs) + index * kInt4BlockBytes);
#pragma GCC unroll 8
      for (size_t i = 0; i < kInt4Block / 4; ++i) to.nibbles[i][t] = from.bytes[i];
      to.scales[t] = load_scales(reinterpret_cast<const int8_t*>(tile + sizeof(Int4Frame)) + index * kInt4Columns);
    }
  }
}

// Converts the sums of `count` rows to outputs.
void store_outputs(const Strip& strip, const Block& rows, size_t count, size_t y_stride) {
  for (size_t i = 0; i < kPair; ++i) {
    for (size_t r = 0; r < count; ++r) {
      _mm512_mask_storeu_ps(rows.y + r * y_stride + i * kInt4Columns, strip.columns[i],
                            outputs_of(rows.sums[r].tiles[i], *strip.frames[i], rows.quantization[r]));
    }
  }
}

// Multiplies a block of rows with a strip. Written in assembly, so that the compiler keeps the order of the
// multiplications.
template <size_t kRows>
void multiply_block(const Strip& strip, Block rows, size_t y_stride, Prefetcher& prefetcher) {
  Sums sums[kRows];
#pragma GCC unroll 8
  for (size_t r = 0; r < kRows; ++r) sums[r] = strip.first == 0 ? Sums() : rows.sums[r];
  for (size_t block = 0; block < strip.count; ++block) {
    prefetcher.prefetch();
    // Rows of outputs are prefetched one at a time, as in int8 layers.
    if (strip.is_last && block < kRows) {
      const float* y = rows.y + block * y_stride;
      _mm_prefetch(reinterpret_cast<const char*>(y), _MM_HINT_T0);
      _mm_prefetch(reinterpret_cast<const char*>(y + kInt4Columns), _MM_HINT_T0);
    }
    const BlockWeights& weights = strip.weights[block];
    Sums dots[kRows];
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) dots[r].tiles[0] = dots[r].tiles[1] = _mm512_set1_epi32(rows.starts[r]);
    for (size_t i = 0; i < kInt4Block / 4; ++i) {
      const __m512i first = weights.nibbles[i][0];
      const __m512i second = weights.nibbles[i][1];
#pragma GCC unroll 8
      for (size_t r = 0; r < kRows; ++r) {
        int32_t bytes;
        std::memcpy(&bytes, rows.q + r * kInt4Block + 4 * i, sizeof bytes);
        const __m512i activations = _mm512_set1_epi32(bytes);
        asm volatile("vpdpbusd %2, %1, %0" : "+v"(dots[r].tiles[0]) : "v"(first), "v"(activations));
        asm volatile("vpdpbusd %2, %1, %0" : "+v"(dots[r].tiles[1]) : "v"(second), "v"(activations));
      }
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) {
      asm volatile("vpdpwssd %2, %1, %0" : "+v"(sums[r].tiles[0]) : "v"(dots[r].tiles[0]), "m"(weights.scales[0]));
      asm volatile("vpdpwssd %2, %1, %0" : "+v"(sums[r].tiles[1]) : "v"(dots[r].tiles[1]), "m"(weights.scales[1]));
    }
    rows.q += kRows * kInt4Block;
    rows.starts += kRows;
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < kRows; ++r) rows.sums[r] = sums[r];
}

// Computes `tiles` tiles, at most kPair, from `first_tile`. A single tile is multiplied twice.
void multiply_pair(const LinearArgs& args, size_t first_tile, size_t tiles) {
  const size_t size = int4_tile_size(args.inputs);
  const uint8_t* packed = args.weights + first_tile * size;
  const size_t blocks = int4_block_count(args.inputs);
  const RowBlocks row_blocks(args.rows, kMaxBlockRows);
  Prefetcher prefetcher = {packed + kPair * size, divide_up(kPair * size, blocks * row_blocks.count())};
  Strip strip;
  for (size_t i = 0; i < kPair; ++i) {
    strip.frames[i] = reinterpret_cast<const Int4Frame*>(packed + i % tiles * size);
    strip.columns[i] = i < tiles ? columns_of(args, first_tile + i) : __mmask16{0};
  }
  Sums sums[kGroupBlocks * kMaxBlockRows];
  for (const RowBlock group : RowBlocks(row_blocks.count(), kGroupBlocks)) {
    for (strip.first = 0; strip.first < blocks; strip.first += strip.count) {
      strip.count = std::min(kStripBlocks, blocks - strip.first);
      strip.is_last = strip.first + strip.count == blocks;
      unpack(args, &strip);
      for (size_t i = 0; i < group.count; ++i) {
        const RowBlock rows = row_blocks[group.first + i];
        const size_t at = rows.first * blocks + strip.first * rows.count;
        const Block block = {args.scratch + at * kInt4Block, int4_starts(args) + at, args.quantization + rows.first,
                             args.y + rows.first * args.outputs + first_tile * kInt4Columns, sums + i * kMaxBlockRows};
        generic::with_rows<kMinBlockRows, kMaxBlockRows>(
            rows.count, [&](auto count) { multiply_block<count>(strip, block, args.outputs, prefetcher); });
        if (strip.is_last) store_outputs(strip, block, rows.count, args.outputs);
      }
    }
  }
}

void prepare(const LinearArgs& args, size_t group) { generic::prepare_int4<LargeBatch>(args, group); }

void multiply(const LinearArgs& args, size_t first_tile, size_t tile_count) {
  assert(args.rows > kSmallBatchRows);
  const size_t end = first_tile + tile_count;
  for (size_t tile = first_tile; tile < end; tile += kPair) multiply_pair(args, tile, std::min(kPair, end - tile));
}

}  // namespace int4_large
}  // namespace

void prepare_int4(const LinearArgs& args, size_t group) { generic::prepare_int4<Int4Vector>(args, group); }

void multiply_int4(const LinearArgs& args, size_t first_tile, size_t tile_count) {
  generic::multiply_int4<Int4Vector>(args, first_tile, tile_count);
}

constinit const MatrixKernels kInt4 = {.layout = nullptr,
                                       .small = kSmallInt4,
                                       .large = {.prepare = int4_large::prepare,
                                                 .multiply = int4_large::multiply,
                                                 .task_tiles = 4,
                                                 .group_rows = int4_large::kMaxBlockRows}};

}  // namespace sotto::avx512vnni
