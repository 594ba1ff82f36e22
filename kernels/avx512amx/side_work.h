// What is done beside the multiplications of tiles, a piece at every step of them. Unnamed
// namespace: see kernels/generic/block.h.
#pragma once

#include <algorithm>

#include "kernels/avx512amx/tiles.h"
#include "kernels/avx512vnni/tile.h"

namespace sotto::avx512amx {
namespace {

inline constexpr size_t kStepInputs = kTileRowBytes;
inline constexpr size_t kBlockSteps = 6;
inline constexpr size_t kPair = 2;  // tiles of columns, and of rows, at once

inline constexpr size_t kPrefetchBytes = 8192;

static_assert(kTileRows == kTileColumns);

// Of one tile of rows.
struct Sums {
  int32_t columns[kPair][kTileRows][kTileColumns];
};

// From packed weights (eight inputs, column, of the eight) to (four inputs, column, of the four),
// a tile of columns behind the other, padded with zeros to whole steps.
class WeightOrder {
 public:
  // A block of the inputs of `count` tiles of columns.
  void begin(const TileArgs& args, size_t tile, size_t count, size_t first_step,
             int8_t (*to)[kBlockSteps * kTileBytes]) {
    constexpr size_t kStepDepths = kStepInputs / kTileDepth;
    const size_t first = first_step * kStepDepths;
    depths_ = std::min(kBlockSteps * kStepDepths, avx512vnni::depth_count(args.inputs) - first);
    size_ = avx512vnni::tile_size(args.inputs);
    from_ = static_cast<const uint8_t*>(args.packed) + tile * size_ + sizeof(__m512i) +
            first * avx512vnni::kDepthBytes;
    to_ = to[0];
    depths_left_ = depths_;
    tiles_left_ = count;
    const size_t padding = (kStepDepths - depths_ % kStepDepths) % kStepDepths;
    for (size_t i = 0; i < count; ++i) {
      std::memset(to[i] + depths_ * avx512vnni::kDepthBytes, 0,
                  padding * avx512vnni::kDepthBytes);
    }
  }

  size_t left() const {
    return tiles_left_ == 0 ? 0 : depths_left_ + (tiles_left_ - 1) * depths_;
  }

  [[gnu::always_inline]] void advance(size_t count) {
    while (count > 0 && tiles_left_ > 0) {
      const size_t part = std::min(count, depths_left_);
      order(part);
      count -= part;
      depths_left_ -= part;
      if (depths_left_ > 0) return;
      from_ += size_ - depths_ * avx512vnni::kDepthBytes;
      to_ += (kBlockSteps * kTileBytes) - depths_ * avx512vnni::kDepthBytes;
      depths_left_ = depths_;
      --tiles_left_;
    }
  }
  void complete() { advance(left()); }

 private:
  [[gnu::always_inline]] void order(size_t count) {
    const __m512i even =
        _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd =
        _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    const uint8_t* from = from_;
    int8_t* to = to_;
    from_ += count * avx512vnni::kDepthBytes;
    to_ += count * avx512vnni::kDepthBytes;
    for (size_t i = 0; i < count; ++i) {
      _mm_prefetch(reinterpret_cast<const char*>(from) + kPrefetchBytes, _MM_HINT_T1);
      _mm_prefetch(reinterpret_cast<const char*>(from) + kPrefetchBytes + 64, _MM_HINT_T1);
      const __m512i low = _mm512_load_si512(from);
      const __m512i high = _mm512_load_si512(from + avx512vnni::kHalfBytes);
      _mm512_store_si512(to, _mm512_permutex2var_epi32(low, even, high));
      _mm512_store_si512(to + avx512vnni::kHalfBytes, _mm512_permutex2var_epi32(low, odd, high));
      from += avx512vnni::kDepthBytes;
      to += avx512vnni::kDepthBytes;
    }
  }

  const uint8_t* from_ = nullptr;
  int8_t* to_ = nullptr;
  size_t size_ = 0;
  size_t depths_ = 0;  // of a tile
  size_t depths_left_ = 0;
  size_t tiles_left_ = 0;
};

// From the sums of one or two tiles of rows and of columns to outputs.
class Finish {
 public:
  void begin(const TileArgs& args, size_t tile, size_t columns, size_t row_tile,
             size_t row_tiles, const Sums* sums) {
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
    const __m512i sums =
        _mm512_load_si512(sums_[row_ / kTileRows].columns[c][row_ % kTileRows]);
    _mm512_mask_storeu_ps(y_ + c * kTileColumns, masks_[c],
                          frames_[c].finish(sums, quantization_[row_]));
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

class SideWork {
 public:
  WeightOrder order;
  Finish finish;

  // What is to be ordered during so many multiplications of rows, and to be finished in each.
  void share_among(size_t row_blocks, size_t steps) {
    depths_ = (order.left() + row_blocks * steps - 1) / (row_blocks * steps);
    rows_ = (kPair * kTileRows + steps - 1) / steps;
  }
  [[gnu::always_inline]] void do_piece() {
    order.advance(depths_);
    finish.advance(rows_);
  }

 private:
  size_t depths_ = 0;
  size_t rows_ = 0;
};

}  // namespace
}  // namespace sotto::avx512amx
