// What is done beside the multiplications of tiles, a piece at every step of them. Unnamed
// namespace: see kernels/generic/block.h.
#pragma once

#include <algorithm>

#include "kernels/x86/avx512amx/tiles.h"
#include "kernels/x86/avx512vnni/tile.h"

namespace sotto::avx512amx {
namespace {

inline constexpr size_t kStepInputs = kTileRowBytes;
inline constexpr size_t kStepDepths = kStepInputs / kTileDepth;
inline constexpr size_t kPair = 2;  // tiles of columns, and of rows, at once

using avx512vnni::kTileColumns;
static_assert(kTileRows == kTileColumns);

// Of one tile of rows.
struct Sums {
  int32_t columns[kPair][kTileRows][kTileColumns];
};

// A step's weights, as tile registers want them: (four inputs, column, of the four).
struct StepWeights {
  alignas(64) int8_t columns[kPair][kTileBytes];
};

// From packed weights, (eight inputs, column, of the eight): all steps of two tiles of columns,
// `turns` times, then those of the next two.
class WeightOrder {
 public:
  // `passes`: how often two tiles of columns are multiplied.
  WeightOrder(const TileArgs& args, size_t first_tile, size_t tile_count, size_t passes, size_t turns)
      : depths_(avx512vnni::depth_count(args.inputs)),
        size_(avx512vnni::tile_size(args.inputs)),
        tile_(static_cast<const uint8_t*>(args.packed) + first_tile * size_),
        tiles_left_(tile_count),
        turns_(turns) {
    const size_t steps = passes * ((depths_ + kStepDepths - 1) / kStepDepths);
    ahead_ = reinterpret_cast<const char*>(tile_ + kPair * size_);
    ahead_step_ = (kPair * size_ + steps - 1) / steps;
  }

  // At every step: the next two tiles are asked for while these pass by.
  [[gnu::always_inline]] void ask_ahead() {
    for (size_t i = 0; i < ahead_step_; i += 64) _mm_prefetch(ahead_ + i, _MM_HINT_T1);
    ahead_ += ahead_step_;
  }

  // The next step's. What does not exist is zero.
  [[gnu::always_inline]] void next(StepWeights* to) {
    if (tiles_left_ == 0) return;
    const uint8_t* from = tile_ + sizeof(__m512i) + depth_ * avx512vnni::kDepthBytes;
    const size_t count = std::min(kStepDepths, depths_ - depth_);
    order(from, count, to->columns[0]);
    if (tiles_left_ > 1) order(from + size_, count, to->columns[1]);
    depth_ += kStepDepths;
    if (depth_ >= depths_) begin_turn();
  }

 private:
  void begin_turn() {
    depth_ = 0;
    if (++turn_ < turns_) return;
    turn_ = 0;
    tile_ += kPair * size_;
    tiles_left_ -= std::min(kPair, tiles_left_);
  }

  [[gnu::always_inline]] static void order(const uint8_t* from, size_t count, int8_t* to) {
    if (count == kStepDepths) {
#pragma GCC unroll 8
      for (size_t d = 0; d < kStepDepths; ++d) {
        order_depth(from + d * avx512vnni::kDepthBytes, to + d * avx512vnni::kDepthBytes);
      }
      return;
    }
    for (size_t d = 0; d < count; ++d) {
      order_depth(from + d * avx512vnni::kDepthBytes, to + d * avx512vnni::kDepthBytes);
    }
    std::memset(to + count * avx512vnni::kDepthBytes, 0, (kStepDepths - count) * avx512vnni::kDepthBytes);
  }

  [[gnu::always_inline]] static void order_depth(const uint8_t* from, int8_t* to) {
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    const __m512i low = _mm512_load_si512(from);
    const __m512i high = _mm512_load_si512(from + avx512vnni::kHalfBytes);
    _mm512_store_si512(to, _mm512_permutex2var_epi32(low, even, high));
    _mm512_store_si512(to + avx512vnni::kHalfBytes, _mm512_permutex2var_epi32(low, odd, high));
  }

  size_t depths_;  // of a tile
  size_t size_;
  const uint8_t* tile_;
  size_t tiles_left_;
  size_t turns_;
  size_t turn_ = 0;
  size_t depth_ = 0;
  const char* ahead_;
  size_t ahead_step_;
};

// From the sums of one or two tiles of rows and of columns to outputs.
class Finish {
 public:
  void begin(const TileArgs& args, size_t tile, size_t columns, size_t row_tile, size_t row_tiles, const Sums* sums) {
    const size_t size = avx512vnni::tile_size(args.inputs);
    const size_t first = row_tile * kTileRows;
    const auto* packed = static_cast<const uint8_t*>(args.packed) + tile * size;
    for (size_t c = 0; c < columns; ++c, packed += size) {
      frames_[c] = avx512vnni::TileFrame(packed, packed + size - kTileColumns * 2 * sizeof(float));
      masks_[c] = avx512vnni::columns_of(args, tile + c);
    }
    columns_ = columns;
    sums_ = sums;
    y_ = args.y + first * args.outputs + tile * kTileColumns;
    y_stride_ = args.outputs;
    quantization_ = args.quantization + first;
    row_ = 0;
    rows_ = std::min(row_tiles * kTileRows, args.rows - first);
  }

  [[gnu::always_inline]] void advance(size_t count) {
    for (const size_t end = std::min(row_ + count, rows_); row_ < end; ++row_, y_ += y_stride_) {
      finish_column(0);
      if (columns_ > 1) finish_column(1);
    }
  }
  void complete() { advance(rows_ - row_); }

 private:
  [[gnu::always_inline]] void finish_column(size_t c) {
    const __m512i sums = _mm512_load_si512(sums_[row_ / kTileRows].columns[c][row_ % kTileRows]);
    _mm512_mask_storeu_ps(y_ + c * kTileColumns, masks_[c], frames_[c].finish(sums, quantization_[row_]));
  }

  avx512vnni::TileFrame frames_[kPair];
  __mmask16 masks_[kPair] = {};
  size_t columns_ = 0;
  const Sums* sums_ = nullptr;
  float* y_ = nullptr;
  size_t y_stride_ = 0;
  const RowQuantization* quantization_ = nullptr;
  size_t row_ = 0;
  size_t rows_ = 0;
};

}  // namespace
}  // namespace sotto::avx512amx
