// More rows, on tile registers: two tiles of rows by two of columns at once, on all inputs. Beside
// the multiplications other instructions put the weights to come in the order that tile registers
// want, and make floats of the previous rows' sums.
#include <algorithm>
#include <cassert>

#include "kernels/x86/avx512amx/side_work.h"

namespace sotto::avx512amx {
namespace {

// Ordered weights stay for all rows if they have at most so many steps and enough rows follow;
// else a few steps are ordered ahead, for every two tiles of rows anew.
constexpr size_t kKeptSteps = 16;
constexpr size_t kKeptPasses = 3;
constexpr size_t kStepsAhead = 4;

// Passes of two tiles of rows over two of columns.
class Passes {
 public:
  Passes(const TileArgs& args, size_t first_tile, size_t tile_count)
      : args_(args),
        steps_((args.inputs + kStepInputs - 1) / kStepInputs),
        row_tiles_((args.rows + kTileRows - 1) / kTileRows),
        keeps_(steps_ <= kKeptSteps && pass_count() >= kKeptPasses),
        slots_(keeps_ ? steps_ : kStepsAhead),
        order_(args, first_tile, tile_count, pass_count(), keeps_ ? 1 : pass_count()),
        rows_a_step_((kPair * kTileRows + steps_ - 1) / steps_) {
    for (size_t i = 0; i < slots_; ++i) order_.next(&weights_[i]);
  }

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

  // Tiles of rows are (step, row, 64), one behind the other.
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
      order_.ask_ahead();
      if (orders_) order_.next(&weights);
      finish_.advance(rows_a_step_);
    }
    store_tile<0>(sums[0].columns[0]);
    if (kColumns > 1) store_tile<1>(sums[0].columns[1]);
    if (kRows > 1) store_tile<2>(sums[1].columns[0]);
    if (kRows * kColumns > 2) store_tile<3>(sums[1].columns[1]);
  }

  const TileArgs& args_;
  size_t steps_;
  size_t row_tiles_;
  bool keeps_;
  size_t slots_;
  WeightOrder order_;
  Finish finish_;
  size_t rows_a_step_;
  size_t slot_ = 0;
  size_t turn_ = 0;
  bool orders_ = false;
  StepWeights weights_[kKeptSteps];
  alignas(64) Sums sums_[2][kPair];
};

// Tiles of rows, their steps one after the other, with 128 added: unsigned. What does not exist
// is zero.
void prepare_large_batch(const TileArgs& args) {
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

void multiply_large_batch(const TileArgs& args, size_t first_tile, size_t tile_count) {
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

constinit const TileKernels kTileKernels = {
    kTileColumns, {nullptr, avx512vnni::multiply_small_batch, 8}, {prepare_large_batch, multiply_large_batch, 12}};

}  // namespace sotto::avx512amx
