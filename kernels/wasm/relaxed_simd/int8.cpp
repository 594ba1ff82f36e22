// Int8 linear layers with the dot product of relaxed SIMD. Engines agree on its result only if one operand is from 0 to
// 127, so a product of two int8 needs one more step, which depends on the number of rows.
#include "kernels/generic/int8.h"
#include "kernels/dispatch/tables.h"
#include "kernels/wasm/simd128/dots.h"
#include "kernels/wasm/simd128/tile_frame.h"

namespace sotto::relaxed_simd {
namespace {

constexpr size_t kVectors = 4;  // in a depth of a tile

v128_t dot(v128_t a, v128_t seven_bits, v128_t sum) {
  return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(a, seven_bits, sum);
}

// For few rows, whose weights are read once: q = (q & 127) - 128 (q < 0), so there are two dot products with the
// unchanged weights.
struct TwoDots {
  static constexpr size_t kColumns = TileFrame::kColumns;
  static constexpr size_t kTileVectors = kVectors;
  static constexpr size_t kMaxRows = 3;
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

// For many rows: the magnitudes of the weights have seven bits, because packed weights are at least -127. Negative
// weights invert the bits of the activations, and since ~q = -q - 1, the sum is short by these magnitudes, whatever the
// activations are.
struct InvertedBits {
  static constexpr size_t kColumns = TileFrame::kColumns;
  static constexpr size_t kTileVectors = kVectors;
  static constexpr size_t kMaxRows = 4;
  static constexpr size_t pass_vectors(size_t) { return 2; }
  static constexpr size_t kDepthsAtOnce = 64;
  struct FloatMode {};
  using Activation = int8_t;
  struct Ints {  // sums and activations have only the first part
    v128_t magnitude, sign;
  };

  static void order(const int8_t* from, int8_t* to) { wasm_v128_store64_lane(to, wasm_v128_load64_zero(from), 0); }

  static Ints only(v128_t first) { return {first, wasm_i32x4_splat(0)}; }
  static Ints zero() { return only(wasm_i32x4_splat(0)); }
  static Ints add(Ints a, Ints b) { return only(wasm_i32x4_add(a.magnitude, b.magnitude)); }
  static Ints weights(const uint8_t* from) {
    const v128_t bytes = wasm_v128_load(from);
    return {wasm_i8x16_abs(bytes), wasm_i8x16_lt(bytes, wasm_i8x16_splat(0))};
  }
  static Ints broadcast(const int8_t* q) { return only(wasm_v128_load64_splat(q)); }
  static void multiply_add(Ints& sums, Ints activations, Ints weights) {
    sums.magnitude = dot(wasm_v128_xor(activations.magnitude, weights.sign), weights.magnitude, sums.magnitude);
  }

  // Also contains the sums of the magnitudes of negative weights, negated.
  class Frame {
   public:
    Frame(const uint8_t* tile, const uint8_t* end) : outputs_(tile, end), minus_missing_{} {
      for (const uint8_t* at = tile + kColumns * sizeof(int32_t); at < end; at += kColumns * kTileDepth) {
#pragma GCC unroll 4
        for (size_t v = 0; v < kTileVectors; ++v) {
          const Ints w = weights(at + v * sizeof(v128_t));
          minus_missing_[v] = dot(w.sign, w.magnitude, minus_missing_[v]);
        }
      }
    }
    TileOutputs finish(const Ints (&sums)[kTileVectors], const RowQuantization& quantization) const {
      v128_t all[kTileVectors];
      for (size_t v = 0; v < kTileVectors; ++v) all[v] = wasm_i32x4_sub(sums[v].magnitude, minus_missing_[v]);
      return outputs_.finish(add_pairs(all[0], all[1]), add_pairs(all[2], all[3]), quantization);
    }

   private:
    TileFrame outputs_;
    v128_t minus_missing_[kTileVectors];
  };
  static TileOutputs finish(const Ints (&sums)[kTileVectors], const Frame& frame, const RowQuantization& quantization) {
    return frame.finish(sums, quantization);
  }
  static void store(float* y, size_t columns, TileOutputs outputs) { store_columns(y, columns, outputs); }
};

using SmallTiles = generic::Int8Tiles<TwoDots>;
using LargeTiles = generic::Int8Tiles<InvertedBits>;

}  // namespace

constinit const Int8Kernels kInt8 = {
    &kTilesOf8,
    {SmallTiles::prepare, SmallTiles::multiply, 16},
    {LargeTiles::prepare, LargeTiles::multiply, 16},
};

}  // namespace sotto::relaxed_simd
