// The linear layers with AMX tile registers. A pass multiplies two tiles of rows with two tiles of weights, over all
// inputs. Between the tile instructions, other instructions convert the weights of later steps to the form of the tile
// registers, and the sums of the previous rows to floats.
//
// `Layer` describes the weights:
//   kTiles: number of packed tiles that two tiles of weights come from; tile_size(inputs): the size of a packed tile;
//   convert(inputs, tile, step, count, to): writes the weights of a step, of `count` packed tiles;
//   multiply<kSums, kRows, kWeights>(): adds the products of two tile registers to a third;
//   Frames(args, tile, count): for `count` packed tiles; finish(sums, row, quantization, y) stores the outputs of a
//   row.
// kernels/generic/vector.h explains the unnamed namespace.
#pragma once

#include <immintrin.h>

#include <algorithm>

#include "kernels/linear/matrix_kernels.h"
#include "kernels/x86/avx512amx/tiles.h"

namespace sotto::avx512amx {
namespace {

constexpr size_t kStepInputs = kTileRowBytes;  // a step multiplies this number of inputs
constexpr size_t kPair = 2;                    // number of tiles of weights, and of tiles of rows, of a pass

// The sums of one tile of rows.
struct Sums {
  int32_t parts[kPair][kTileRows][kTileRows];
};

// The weights of a step, in the order of tile registers: (group of four inputs, column, input of the group).
struct StepWeights {
  alignas(64) int8_t parts[kPair][kTileBytes];
};

constexpr size_t step_count(size_t inputs) { return divide_up(inputs, kStepInputs); }

// Writes the tile of rows `index` of the activations, one step after the other, with the bits of `flip` inverted. Rows
// and inputs that the batch does not have become zero.
inline void order_rows(const LinearArgs& args, size_t index, int8_t flip, int8_t* to) {
  const __m512i flips = _mm512_set1_epi8(flip);
  const size_t first = index * kTileRows;
  const size_t rows = std::min(kTileRows, args.rows - first);
  for (size_t input = 0; input < args.inputs; input += kStepInputs) {
    const size_t width = std::min(kStepInputs, args.inputs - input);
    const __mmask64 inputs = ~__mmask64{0} >> (kStepInputs - width);
    const int8_t* from = args.q + first * args.inputs + input;
    for (size_t r = 0; r < rows; ++r, to += kTileRowBytes, from += args.inputs) {
      const __m512i a = _mm512_maskz_loadu_epi8(inputs, from);
      _mm512_store_si512(to, _mm512_maskz_mov_epi8(inputs, _mm512_xor_si512(a, flips)));
    }
    for (size_t r = rows; r < kTileRows; ++r, to += kTileRowBytes) _mm512_store_si512(to, _mm512_setzero_si512());
  }
}

// Converts packed weights step by step: all steps of Layer::kTiles tiles, `turns` times, and then those of the next
// tiles.
template <class Layer>
class WeightOrder {
 public:
  // `passes` is the number of times that each step is multiplied.
  WeightOrder(const LinearArgs& args, size_t first_tile, size_t tile_count, size_t turns, size_t passes)
      : inputs_(args.inputs),
        steps_(step_count(args.inputs)),
        size_(Layer::tile_size(args.inputs)),
        tile_(args.weights + first_tile * size_),
        tiles_left_(tile_count),
        turns_(turns),
        prefetch_address_(reinterpret_cast<const char*>(tile_ + Layer::kTiles * size_)),
        prefetch_step_(divide_up(Layer::kTiles * size_, passes * steps_)) {}

  // Prefetches a part of the next tiles. Must be called in every step.
  [[gnu::always_inline]] void prefetch() {
    for (size_t i = 0; i < prefetch_step_; i += 64) _mm_prefetch(prefetch_address_ + i, _MM_HINT_T1);
    prefetch_address_ += prefetch_step_;
  }

  // Converts the weights of the next step.
  [[gnu::always_inline]] void next(StepWeights* to) {
    if (tiles_left_ == 0) return;
    Layer::convert(inputs_, tile_, step_, std::min(Layer::kTiles, tiles_left_), to);
    if (++step_ == steps_) begin_turn();
  }

 private:
  void begin_turn() {
    step_ = 0;
    if (++turn_ < turns_) return;
    turn_ = 0;
    tile_ += Layer::kTiles * size_;
    tiles_left_ -= std::min(Layer::kTiles, tiles_left_);
  }

  size_t inputs_;
  size_t steps_;
  size_t size_;
  const uint8_t* tile_;
  size_t tiles_left_;
  size_t turns_;
  size_t turn_ = 0;
  size_t step_ = 0;
  const char* prefetch_address_;
  size_t prefetch_step_;
};

// Converts the sums of one or two tiles of rows to outputs, a few rows at a time, between the tile instructions that
// compute the next sums.
template <class Layer>
class Finish {
 public:
  void begin(const LinearArgs& args, size_t tile, size_t tiles, size_t row_tile, size_t row_tiles, const Sums* sums) {
    const size_t first = row_tile * kTileRows;
    frames_ = typename Layer::Frames(args, tile, tiles);
    sums_ = sums;
    y_ = args.y + first * args.outputs + tile * kTileRows;
    y_stride_ = args.outputs;
    quantization_ = args.quantization + first;
    row_ = 0;
    rows_ = std::min(row_tiles * kTileRows, args.rows - first);
  }

  [[gnu::always_inline]] void advance(size_t count) {
    for (const size_t end = std::min(row_ + count, rows_); row_ < end; ++row_, y_ += y_stride_) {
      frames_.finish(sums_[row_ / kTileRows], row_ % kTileRows, quantization_[row_], y_);
    }
  }
  void complete() { advance(rows_ - row_); }

 private:
  typename Layer::Frames frames_;
  const Sums* sums_ = nullptr;
  float* y_ = nullptr;
  size_t y_stride_ = 0;
  const RowQuantization* quantization_ = nullptr;
  size_t row_ = 0;
  size_t rows_ = 0;
};

// Prefetches the outputs of a pass, a few rows at a time, unless all outputs fit the L2 cache. Rows are usually in
// different pages, where the hardware does not prefetch, so that the next pass would wait for its stores.
class OutputPrefetcher {
 public:
  void begin(const LinearArgs& args, size_t tile, size_t tiles, size_t row_tile, size_t row_tiles) {
    if (args.rows * args.outputs * sizeof(float) <= kCachedBytes) return;
    const size_t first = row_tile * kTileRows;
    y_ = args.y + first * args.outputs + tile * kTileRows;
    y_stride_ = args.outputs;
    rows_left_ = std::min(row_tiles * kTileRows, args.rows - first);
    width_ = tiles * kTileRows;
  }

  [[gnu::always_inline]] void advance(size_t count) {
    for (; count > 0 && rows_left_ > 0; --count, --rows_left_, y_ += y_stride_) {
      for (size_t i = 0; i < width_; i += kTileRows) {
        _mm_prefetch(reinterpret_cast<const char*>(y_ + i), _MM_HINT_T1);
      }
    }
  }

 private:
  static constexpr size_t kCachedBytes = 512 * 1024;

  const float* y_ = nullptr;
  size_t y_stride_ = 0;
  size_t rows_left_ = 0;
  size_t width_ = 0;
};

// With at least kKeptPasses passes and at most kKeptSteps steps, the converted weights are kept for all rows. Otherwise
// every pass converts them again, a few steps ahead of their use.
constexpr size_t kKeptPasses = 3;
constexpr size_t kKeptSteps = 16;
constexpr size_t kStepsAhead = 4;

// Multiplies all rows with two tiles of weights at a time, in passes that multiply two tiles of rows with them over all
// steps.
template <class Layer>
class Passes {
 public:
  Passes(const LinearArgs& args, size_t first_tile, size_t tile_count)
      : args_(args),
        steps_(step_count(args.inputs)),
        row_tiles_(divide_up(args.rows, kTileRows)),
        keeps_(steps_ <= kKeptSteps && pass_count() >= kKeptPasses),
        slots_(keeps_ ? steps_ : kStepsAhead),
        order_(args, first_tile, tile_count, keeps_ ? 1 : pass_count(), pass_count()),
        rows_per_step_(divide_up(kPair * kTileRows, steps_)) {
    for (size_t i = 0; i < slots_; ++i) order_.next(&weights_[i]);
  }

  // Multiplies all rows with `tiles` packed tiles, at most Layer::kTiles. The results of a pass are converted during
  // the next one.
  void multiply(size_t tile, size_t tiles) {
    const bool has_two_parts = tiles == Layer::kTiles;
    for (size_t row_tile = 0; row_tile < row_tiles_; row_tile += kPair) {
      const size_t row_tiles = std::min(kPair, row_tiles_ - row_tile);
      const int8_t* q = args_.scratch + row_tile * steps_ * kTileBytes;
      Sums* sums = sums_[turn_ ^= 1];
      converts_ = !keeps_ || row_tile + kPair >= row_tiles_;
      output_prefetcher_.begin(args_, tile, tiles, row_tile, row_tiles);
      if (row_tiles > 1) {
        has_two_parts ? pass<2, 2>(q, sums) : pass<2, 1>(q, sums);
      } else {
        has_two_parts ? pass<1, 2>(q, sums) : pass<1, 1>(q, sums);
      }
      finish_.complete();
      finish_.begin(args_, tile, tiles, row_tile, row_tiles, sums);
    }
  }
  void complete() { finish_.complete(); }

 private:
  size_t pass_count() const { return divide_up(row_tiles_, kPair); }

  // Tiles of rows, as (step, row, 64), are contiguous.
  template <size_t kRows, size_t kParts>
  void pass(const int8_t* q, Sums* sums) {
    clear_tile<0>();
    if (kParts > 1) clear_tile<1>();
    if (kRows > 1) clear_tile<2>();
    if (kRows * kParts > 2) clear_tile<3>();
    const size_t row_stride = steps_ * kTileBytes;
    for (size_t step = 0; step < steps_; ++step, q += kTileBytes) {
      StepWeights& weights = weights_[slot_];
      slot_ = slot_ + 1 < slots_ ? slot_ + 1 : 0;
      load_tile<4>(q);
      load_tile<6>(weights.parts[0]);
      Layer::template multiply<0, 4, 6>();
      if (kParts > 1) {
        load_tile<7>(weights.parts[1]);
        Layer::template multiply<1, 4, 7>();
      }
      if (kRows > 1) {
        load_tile<5>(q + row_stride);
        Layer::template multiply<2, 5, 6>();
        if (kParts > 1) Layer::template multiply<3, 5, 7>();
      }
      order_.prefetch();
      output_prefetcher_.advance(rows_per_step_);
      if (converts_) order_.next(&weights);
      finish_.advance(rows_per_step_);
    }
    store_tile<0>(sums[0].parts[0]);
    if (kParts > 1) store_tile<1>(sums[0].parts[1]);
    if (kRows > 1) store_tile<2>(sums[1].parts[0]);
    if (kRows * kParts > 2) store_tile<3>(sums[1].parts[1]);
  }

  const LinearArgs& args_;
  size_t steps_;
  size_t row_tiles_;
  bool keeps_;    // true if the converted weights are kept for all rows
  size_t slots_;  // number of elements of weights_ that are in use, as a ring
  WeightOrder<Layer> order_;
  OutputPrefetcher output_prefetcher_;
  Finish<Layer> finish_;
  size_t rows_per_step_;   // number of rows whose sums are converted, or outputs prefetched, in each step
  size_t slot_ = 0;        // index of the current step in weights_
  size_t turn_ = 0;        // index of the current pass in sums_
  bool converts_ = false;  // true if this pass converts weights for later steps
  StepWeights weights_[kKeptSteps];
  alignas(64) Sums sums_[2][kPair];
};

template <class Layer>
void multiply_in_passes(const LinearArgs& args, size_t first_tile, size_t tile_count) {
  const TileState state;
  Passes<Layer> passes(args, first_tile, tile_count);
  const size_t end = first_tile + tile_count;
  for (size_t tile = first_tile; tile < end; tile += Layer::kTiles) {
    passes.multiply(tile, std::min(Layer::kTiles, end - tile));
  }
  passes.complete();
}

}  // namespace
}  // namespace sotto::avx512amx
