// More rows, on tile registers: two tiles of rows by two of columns at once, on a block of
// inputs, while other instructions put the next block's weights in the order that tile registers
// want, and make floats of the previous rows' sums: beside the multiplications they cost nothing.
#include <algorithm>
#include <cassert>

#include "kernels/avx512amx/side_work.h"

namespace sotto::avx512amx {
namespace {

constexpr size_t kGroupTiles = 8;  // of rows, whose sums are kept from block to block

struct Buffers {
  alignas(64) int8_t weights[2][kPair][kBlockSteps * kTileBytes];
  alignas(64) Sums sums[kGroupTiles];
};

// One block of inputs of one or two tiles of columns, for one group of rows.
struct Unit {
  size_t tile;
  size_t columns;
  size_t first_row_tile;
  size_t row_tiles;
  size_t first_step;
  size_t steps;
};

// All units of a call, in order.
class Units {
 public:
  Units(const TileArgs& args, size_t first_tile, size_t tile_count)
      : tile_(first_tile),
        end_(first_tile + tile_count),
        all_row_tiles_((args.rows + kTileRows - 1) / kTileRows),
        all_steps_((args.inputs + kStepInputs - 1) / kStepInputs) {}
  bool left() const { return tile_ < end_; }
  Unit now() const {
    return {tile_, std::min(kPair, end_ - tile_), row_tile_,
            std::min(kGroupTiles, all_row_tiles_ - row_tile_), step_,
            std::min(kBlockSteps, all_steps_ - step_)};
  }
  void next() {
    step_ += kBlockSteps;
    if (step_ < all_steps_) return;
    step_ = 0;
    row_tile_ += kGroupTiles;
    if (row_tile_ < all_row_tiles_) return;
    row_tile_ = 0;
    tile_ += kPair;
  }
  size_t all_steps() const { return all_steps_; }

 private:
  size_t tile_;
  size_t end_;
  size_t row_tile_ = 0;
  size_t step_ = 0;
  size_t all_row_tiles_;
  size_t all_steps_;
};

// Tiles of rows as (step, row, 64), the second one row_stride behind the first.
struct Activations {
  const int8_t* q;
  size_t row_stride;
};

template <size_t kRows, size_t kColumns>
void load_sums(const Sums* sums, bool is_first) {
  if (is_first) {
    clear_tile<0>();
    if (kColumns > 1) clear_tile<1>();
    if (kRows > 1) clear_tile<2>();
    if (kRows * kColumns > 2) clear_tile<3>();
    return;
  }
  load_tile<0>(sums[0].columns[0]);
  if (kColumns > 1) load_tile<1>(sums[0].columns[1]);
  if (kRows > 1) load_tile<2>(sums[1].columns[0]);
  if (kRows * kColumns > 2) load_tile<3>(sums[1].columns[1]);
}

template <size_t kRows, size_t kColumns>
void store_sums(Sums* sums) {
  store_tile<0>(sums[0].columns[0]);
  if (kColumns > 1) store_tile<1>(sums[0].columns[1]);
  if (kRows > 1) store_tile<2>(sums[1].columns[0]);
  if (kRows * kColumns > 2) store_tile<3>(sums[1].columns[1]);
}

template <size_t kRows, size_t kColumns>
void multiply_rows(const int8_t (*weights)[kBlockSteps * kTileBytes], Activations activations,
                   const Unit& unit, Sums* sums, SideWork* side) {
  load_sums<kRows, kColumns>(sums, unit.first_step == 0);
  const int8_t* q = activations.q;
  for (size_t at = 0; at < unit.steps * kTileBytes; at += kTileBytes, q += kTileBytes) {
    load_tile<4>(q);
    load_tile<6>(weights[0] + at);
    multiply_tiles<0, 4, 6>();
    if (kColumns > 1) {
      load_tile<7>(weights[1] + at);
      multiply_tiles<1, 4, 7>();
    }
    if (kRows > 1) {
      load_tile<5>(q + activations.row_stride);
      multiply_tiles<2, 5, 6>();
      if (kColumns > 1) multiply_tiles<3, 5, 7>();
    }
    side->do_piece();
  }
  store_sums<kRows, kColumns>(sums);
}

using RowsFunction = void (*)(const int8_t (*weights)[kBlockSteps * kTileBytes],
                              Activations activations, const Unit& unit, Sums* sums,
                              SideWork* side);

RowsFunction rows_function(size_t rows, size_t columns) {
  if (rows > 1) return columns > 1 ? multiply_rows<2, 2> : multiply_rows<2, 1>;
  return columns > 1 ? multiply_rows<1, 2> : multiply_rows<1, 1>;
}

void multiply_unit(const TileArgs& args, const Unit& unit, size_t all_steps,
                   const int8_t (*weights)[kBlockSteps * kTileBytes], Sums* sums,
                   SideWork* side) {
  const size_t row_stride = all_steps * kTileBytes;
  const bool is_last = unit.first_step + unit.steps == all_steps;
  side->share_among((unit.row_tiles + kPair - 1) / kPair, unit.steps);
  for (size_t row = 0; row < unit.row_tiles; row += kPair) {
    const size_t rows = std::min(kPair, unit.row_tiles - row);
    const size_t row_tile = unit.first_row_tile + row;
    const int8_t* q = args.ordered + row_tile * row_stride + unit.first_step * kTileBytes;
    // Those that need not be kept go where caches have the memory.
    Sums* row_sums = sums + (unit.steps == all_steps ? row % (2 * kPair) : row);
    rows_function(rows, unit.columns)(weights, {q, row_stride}, unit, row_sums, side);
    side->finish.complete();
    if (is_last) side->finish.begin(args, unit.tile, unit.columns, row_tile, rows, row_sums);
  }
  side->order.complete();
}

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
  const avx512vnni::FlushDenormals flush;
  const TileState state;
  Buffers buffers;
  SideWork side;
  Units units(args, first_tile, tile_count);
  Unit unit = units.now();
  side.order.begin(args, unit.tile, unit.columns, unit.first_step, buffers.weights[0]);
  side.order.complete();
  for (size_t turn = 0; units.left(); turn ^= 1) {
    unit = units.now();
    units.next();
    if (units.left()) {
      const Unit next = units.now();
      side.order.begin(args, next.tile, next.columns, next.first_step,
                       buffers.weights[turn ^ 1]);
    }
    multiply_unit(args, unit, units.all_steps(), buffers.weights[turn], buffers.sums, &side);
  }
  side.finish.complete();
}

}  // namespace

constinit const TileKernels kTileKernels = {avx512vnni::kSmallBatchRows,
                                            avx512vnni::multiply_small_batch,
                                            prepare_large_batch, multiply_large_batch, 12};

}  // namespace sotto::avx512amx
