// 4-bit linear layers, four adjacent outputs at a time. `Dot` holds the weights of a block in the form that it
// multiplies, and computes the dot product of a block for each output.
#pragma once

#include "kernels/generic/int4.h"
#include "kernels/wasm/simd128/vector.h"

namespace sotto::SOTTO_ISA {
namespace {

template <class Dot>
struct Int4Vector {
  static constexpr size_t kColumns = 4;
  static constexpr size_t kMaxRows = 4;
  static constexpr size_t kMaxRowsOfWholeTile = 1;
  using Sums = v128_t;
  using Weights = typename Dot::Weights;

  struct Scales {
    v128_t values;
    explicit Scales(const int8_t* bytes)
        : values(wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(bytes)))) {}
  };

  static int32_t start(const int8_t* q) {
    int32_t sum = 0;
    for (size_t i = 0; i < kInt4Block; ++i) sum += q[i];
    return -kInt4Zero * sum;
  }

  static void prefetch(const uint8_t*) {}

  static void add_block(Sums& sums, const Weights& weights, const Scales& scales, const int8_t* q,
                        const int32_t* start) {
    const v128_t dots = Dot::multiply(wasm_v128_load32_splat(start), weights, q);
    sums = wasm_i32x4_add(sums, wasm_i32x4_mul(dots, scales.values));
  }

  static void finish(Sums sums, const Int4Frame& frame, size_t column, const RowQuantization& quantization, float* y) {
    const v128_t shift = wasm_i32x4_mul(wasm_i32x4_splat(quantization.zero_point), wasm_v128_load(frame.sums + column));
    const v128_t scaled =
        wasm_f32x4_mul(wasm_f32x4_convert_i32x4(wasm_i32x4_sub(sums, shift)), wasm_f32x4_splat(quantization.scale));
    wasm_v128_store(y, fma(scaled, wasm_v128_load(frame.scales + column), wasm_v128_load(frame.biases + column)));
  }
};

}  // namespace
}  // namespace sotto::SOTTO_ISA
