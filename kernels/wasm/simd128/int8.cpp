// Int8 linear layers that widen int8 to int16 and multiply pairs.
#include "kernels/generic/int8.h"
#include "kernels/dispatch/tables.h"
#include "kernels/wasm/simd128/dots.h"
#include "kernels/wasm/simd128/tile_frame.h"

namespace sotto::simd128 {
namespace {

struct Int8Vector {
  static constexpr size_t kColumns = TileFrame::kColumns;
  static constexpr size_t kTileVectors = 8;
  static constexpr size_t kMaxRows = 4;
  static constexpr size_t pass_vectors(size_t rows) { return rows == 1 ? 8 : rows == 2 ? 4 : 2; }
  static constexpr size_t kDepthsAtOnce = 64;
  struct FloatMode {};
  using Activation = int16_t;
  using Ints = v128_t;

  static void order(const int8_t* from, int16_t* to) { wasm_v128_store(to, wasm_i16x8_load8x8(from)); }

  static Ints zero() { return wasm_i32x4_splat(0); }
  static Ints add(Ints a, Ints b) { return wasm_i32x4_add(a, b); }
  static Ints weights(const uint8_t* from) { return wasm_i16x8_load8x8(from); }
  static Ints broadcast(const int16_t* q) { return wasm_v128_load(q); }
  static void multiply_add(Ints& sums, Ints activations, Ints weights) {
    sums = wasm_i32x4_add(sums, wasm_i32x4_dot_i16x8(activations, weights));
  }

  using Frame = TileFrame;
  // Converts sums to outputs. Each vector of sums belongs to one column.
  static TileOutputs finish(const Ints (&sums)[kTileVectors], const Frame& frame, const RowQuantization& quantization) {
    return frame.finish(add_pairs(add_pairs(sums[0], sums[1]), add_pairs(sums[2], sums[3])),
                        add_pairs(add_pairs(sums[4], sums[5]), add_pairs(sums[6], sums[7])), quantization);
  }
  static void store(float* y, size_t columns, TileOutputs outputs) { store_columns(y, columns, outputs); }
};

using Tiles = generic::Int8Tiles<Int8Vector>;

}  // namespace

constinit const MatrixKernels kInt8 = {
    &kTilesOf8,
    {Tiles::prepare, Tiles::multiply, 16},
    {Tiles::prepare, Tiles::multiply, 16, 2},
};

}  // namespace sotto::simd128
