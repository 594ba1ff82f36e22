// Int8 linear layers with the dot product of relaxed SIMD. Engines agree on its result only if one operand is from 0 to
// 127, so the activations are split, as q = (q & 127) - 128 (q < 0), into two such operands, which are multiplied with
// the same weights.
#include "kernels/generic/int8.h"
#include "kernels/dispatch/tables.h"
#include "kernels/wasm/simd128/dots.h"
#include "kernels/wasm/simd128/tile_frame.h"

namespace sotto::relaxed_simd {
namespace {

v128_t dot(v128_t a, v128_t seven_bits, v128_t sum) {
  return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(a, seven_bits, sum);
}

struct Int8Vector {
  static constexpr size_t kColumns = TileFrame::kColumns;
  static constexpr size_t kTileVectors = 4;
  static constexpr size_t kMaxRows = 2;
  static constexpr size_t pass_vectors(size_t rows) { return rows == 1 ? 4 : 2; }
  static constexpr size_t kDepthsAtOnce = 64;
  struct FloatMode {};
  using Activation = int16_t;  // 8 remainders, then 8 flags
  struct Ints {
    v128_t remainder, flag;
  };

  static void order(const int8_t* from, int16_t* to) {
    const v128_t bytes = wasm_v128_load64_zero(from);
    const v128_t remainder = wasm_v128_and(bytes, wasm_i8x16_splat(127));
    wasm_v128_store(to, wasm_i64x2_shuffle(remainder, wasm_u8x16_shr(bytes, 7), 0, 2));
  }

  static Ints zero() { return {wasm_i32x4_splat(0), wasm_i32x4_splat(0)}; }
  static Ints add(Ints a, Ints b) { return {wasm_i32x4_add(a.remainder, b.remainder), wasm_i32x4_add(a.flag, b.flag)}; }
  static Ints weights(const uint8_t* from) {
    const v128_t bytes = wasm_v128_load(from);
    return {bytes, bytes};
  }
  static Ints broadcast(const int16_t* q) { return {wasm_v128_load64_splat(q), wasm_v128_load64_splat(q + 4)}; }
  static void multiply_add(Ints& sums, Ints activations, Ints weights) {
    sums.remainder = dot(weights.remainder, activations.remainder, sums.remainder);
    sums.flag = dot(weights.flag, activations.flag, sums.flag);
  }

  using Frame = TileFrame;
  // Converts sums to outputs. Two adjacent lanes contain the sum of a column.
  static TileOutputs finish(const Ints (&sums)[kTileVectors], const Frame& frame, const RowQuantization& quantization) {
    v128_t all[kTileVectors];
    for (size_t v = 0; v < kTileVectors; ++v) {
      all[v] = wasm_i32x4_sub(sums[v].remainder, wasm_i32x4_shl(sums[v].flag, 7));
    }
    return frame.finish(add_pairs(all[0], all[1]), add_pairs(all[2], all[3]), quantization);
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

}  // namespace sotto::relaxed_simd
