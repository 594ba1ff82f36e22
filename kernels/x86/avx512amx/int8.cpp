// Int8 linear layers with AMX tile registers, for more than twelve rows. Two tiles of rows are multiplied with two
// tiles of columns over all inputs. In between, other instructions reorder the weights of later steps for the tile
// registers and convert the sums of the previous rows to floats.
#include <algorithm>
#include <cassert>

#include "kernels/dispatch/tables.h"
#include "kernels/x86/avx512amx/tiles.h"
#include "kernels/x86/avx512vnni/int8.h"
#include "kernels/x86/flush_denormals.h"

namespace sotto::avx512amx {
namespace {

using avx512vnni::kTileColumns;
static_assert(kTileRows == kTileColumns);

constexpr size_t kStepInputs = kTileRowBytes;  // a step multiplies this number of inputs
constexpr size_t kStepDepths = kStepInputs / kTileDepth;
constexpr size_t kPair = 2;  // number of tiles of columns, and of tiles of rows, that are multiplied together

// The sums of one tile of rows.
struct Sums {
  int32_t columns[kPair][kTileRows][kTileColumns];
};

// The weights of a step, in the order of tile registers: (group of four inputs, column, input of the group).
struct StepWeights {
  alignas(64) int8_t columns[kPair][kTileBytes];
};

// Reorders packed weights, which are stored as (group of eight inputs, column, input of the group). It reorders all
// steps of two tiles of columns `turns` times, then the steps of the next two.
class WeightOrder {
 public:
  // `passes` is the number of times that two tiles of columns are multiplied.
  WeightOrder(const Int8Args& args, size_t first_tile, size_t tile_count, size_t passes, size_t turns)
      : depths_(avx512vnni::depth_count(args.inputs)),
        size_(avx512vnni::tile_size(args.inputs)),
        tile_(static_cast<const uint8_t*>(args.packed) + first_tile * size_),
        tiles_left_(tile_count),
        turns_(turns) {
    const size_t steps = passes * ((depths_ + kStepDepths - 1) / kStepDepths);
    prefetch_address_ = reinterpret_cast<const char*>(tile_ + kPair * size_);
    prefetch_step_ = (kPair * size_ + steps - 1) / steps;
  }

  // Prefetches a part of the next two tiles. Called in every step.
  [[gnu::always_inline]] void prefetch() {
    for (size_t i = 0; i < prefetch_step_; i += 64) _mm_prefetch(prefetch_address_ + i, _MM_HINT_T1);
    prefetch_address_ += prefetch_step_;
  }

  // Reorders the weights of the next step. Inputs that the layer does not have become zero.
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

  size_t depths_;  // depths of a tile
  size_t size_;
  const uint8_t* tile_;
  size_t tiles_left_;
  size_t turns_;
  size_t turn_ = 0;
  size_t depth_ = 0;
  const char* prefetch_address_;
  size_t prefetch_step_;
};

// Converts the sums of one or two tiles of rows and of columns to outputs, a few rows at a time, between the tile
// instructions that compute the next sums.
class Finish {
 public:
  void begin(const Int8Args& args, size_t tile, size_t columns, size_t row_tile, size_t row_tiles, const Sums* sums) {
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

// If there are enough rows, the reordered weights of at most kKeptSteps steps are kept for all rows. If a layer has
// more steps, a few are reordered ahead of their use, again for every two tiles of rows.
constexpr size_t kKeptSteps = 16;
constexpr size_t kKeptPasses = 3;
constexpr size_t kStepsAhead = 4;

// Multiplies all rows with two tiles of columns at a time. A pass multiplies two tiles of rows with them, over all
// steps.
class Passes {
 public:
  Passes(const Int8Args& args, size_t first_tile, size_t tile_count)
      : args_(args),
        steps_((args.inputs + kStepInputs - 1) / kStepInputs),
        row_tiles_((args.rows + kTileRows - 1) / kTileRows),
        keeps_(steps_ <= kKeptSteps && pass_count() >= kKeptPasses),
        slots_(keeps_ ? steps_ : kStepsAhead),
        order_(args, first_tile, tile_count, pass_count(), keeps_ ? 1 : pass_count()),
        rows_per_step_((kPair * kTileRows + steps_ - 1) / steps_) {
    for (size_t i = 0; i < slots_; ++i) order_.next(&weights_[i]);
  }

  // Multiplies all rows with one or two tiles of columns. The results of a pass are converted during the next one.
  void multiply(size_t tile, size_t columns) {
    for (size_t row_tile = 0; row_tile < row_tiles_; row_tile += kPair) {
      const size_t rows = std::min(kPair, row_tiles_ - row_tile);
      const int8_t* q = args_.ordered + row_tile * steps_ * kTileBytes;
      Sums* sums = sums_[turn_ ^= 1];
      orders_ = !keeps_ || row_tile + kPair >= row_tiles_;
      if (rows > 1) {
        columns > 1 ? pass<2, 2>(q, sums) : pass<2, 1>(q, sums);
      } else {
        columns > 1 ? pass<1, 2>(q, sums) : pass<1, 1>(q, sums);
      }
      finish_.complete();
      finish_.begin(args_, tile, columns, row_tile, rows, sums);
    }
  }
  void complete() { finish_.complete(); }

 private:
  size_t pass_count() const { return (row_tiles_ + kPair - 1) / kPair; }

  // Tiles of rows are (step, row, 64), one after the other.
  template <size_t kRows, size_t kColumns>
  void pass(const int8_t* q, Sums* sums) {
    clear_tile<0>();
    if (kColumns > 1) clear_tile<1>();
    if (kRows > 1) clear_tile<2>();
    if (kRows * kColumns > 2) clear_tile<3>();
    const size_t row_stride = steps_ * kTileBytes;
    for (size_t step = 0; step < steps_; ++step, q += kTileBytes) {
      StepWeights& weights = weights_[slot_];
      slot_ = slot_ + 1 < slots_ ? slot_ + 1 : 0;
      load_tile<4>(q);
      load_tile<6>(weights.columns[0]);
      multiply_tiles<0, 4, 6>();
      if (kColumns > 1) {
        load_tile<7>(weights.columns[1]);
        multiply_tiles<1, 4, 7>();
      }
      if (kRows > 1) {
        load_tile<5>(q + row_stride);
        multiply_tiles<2, 5, 6>();
        if (kColumns > 1) multiply_tiles<3, 5, 7>();
      }
      order_.prefetch();
      if (orders_) order_.next(&weights);
      finish_.advance(rows_per_step_);
    }
    store_tile<0>(sums[0].columns[0]);
    if (kColumns > 1) store_tile<1>(sums[0].columns[1]);
    if (kRows > 1) store_tile<2>(sums[1].columns[0]);
    if (kRows * kColumns > 2) store_tile<3>(sums[1].columns[1]);
  }

  const Int8Args& args_;
  size_t steps_;
  size_t row_tiles_;
  bool keeps_;    // true if the reordered weights are kept for all rows
  size_t slots_;  // number of elements of weights_ that are in use, as a ring
  WeightOrder order_;
  Finish finish_;
  size_t rows_per_step_;  // number of rows of the previous pass that are converted in each step
  size_t slot_ = 0;       // index of the current step in weights_
  size_t turn_ = 0;       // index of the current pass in sums_
  bool orders_ = false;   // true if this pass reorders weights for later steps
  StepWeights weights_[kKeptSteps];
  alignas(64) Sums sums_[2][kPair];
};

// Writes tiles of rows, one step after the other, with 128 added to make the values unsigned. Rows and inputs that the
// batch does not have are zero.
void prepare_large_batch(const Int8Args& args) {
  const __m512i sign = _mm512_set1_epi8(-128);
  int8_t* to = args.ordered;
  for (size_t first = 0; first < args.rows; first += kTileRows) {
    const size_t rows = std::min(kTileRows, args.rows - first);
    for (size_t input = 0; input < args.inputs; input += kStepInputs) {
      const size_t width = std::min(kStepInputs, args.inputs - input);
      const __mmask64 inputs = ~__mmask64{0} >> (kStepInputs - width);
      const int8_t* from = args.q + first * args.inputs + input;
      for (size_t r = 0; r < rows; ++r, to += kTileRowBytes, from += args.inputs) {
        const __m512i a = _mm512_maskz_loadu_epi8(inputs, from);
        _mm512_store_si512(to, _mm512_maskz_mov_epi8(inputs, _mm512_xor_si512(a, sign)));
      }
      for (size_t r = rows; r < kTileRows; ++r, to += kTileRowBytes) {
        _mm512_store_si512(to, _mm512_setzero_si512());
      }
    }
  }
}

void multiply_large_batch(const Int8Args& args, size_t first_tile, size_t tile_count) {
  assert(args.rows > kSmallBatchRows);
  const FlushDenormals flush;
  const TileState state;
  Passes passes(args, first_tile, tile_count);
  const size_t end = first_tile + tile_count;
  for (size_t tile = first_tile; tile < end; tile += kPair) {
    passes.multiply(tile, std::min(kPair, end - tile));
  }
  passes.complete();
}

}  // namespace

constinit const Int8Kernels kInt8 = {
    &kTilesOf16, {nullptr, avx512vnni::multiply_small_batch, 8}, {prepare_large_batch, multiply_large_batch, 12}};

}  // namespace sotto::avx512amx
