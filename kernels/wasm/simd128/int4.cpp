// 4-bit linear layers that multiply pairs of int16. The nibbles of an output are in adjacent bytes, and every second
// byte becomes an int16, so a pair contains inputs that are two apart.
#include "kernels/wasm/simd128/int4.h"

#include "kernels/dispatch/tables.h"

namespace sotto::simd128 {
namespace {

struct Dot {
  struct Weights {
    v128_t pairs[16];  // for every four inputs, the first and third, then the second and fourth

    explicit Weights(const uint8_t* nibbles) {
      const v128_t low = wasm_i16x8_splat(15);
#pragma GCC unroll 4
      for (size_t i = 0; i < 4; ++i) {
        const v128_t both = wasm_v128_load(nibbles + i * kInt4ChunkBytes);
        pairs[4 * i] = wasm_v128_and(both, low);
        pairs[4 * i + 1] = wasm_v128_and(wasm_u16x8_shr(both, 8), low);
        pairs[4 * i + 2] = wasm_v128_and(wasm_u16x8_shr(both, 4), low);
        pairs[4 * i + 3] = wasm_u16x8_shr(both, 12);
      }
    }
  };

  static v128_t multiply(v128_t sum, const Weights& weights, const int8_t* q) {
    return multiply_half(multiply_half(sum, weights.pairs, q), weights.pairs + 8, q + 16);
  }

 private:
  static v128_t multiply_half(v128_t sum, const v128_t* weights, const int8_t* q) {
    const v128_t bytes = wasm_v128_load(q);
    const v128_t even = wasm_i16x8_shr(wasm_i16x8_shl(bytes, 8), 8);
    const v128_t odd = wasm_i16x8_shr(bytes, 8);
    const auto add = [&sum](v128_t pairs, v128_t activations) {
      sum = wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(pairs, activations));
    };
    add(weights[0], wasm_i32x4_shuffle(even, even, 0, 0, 0, 0));
    add(weights[1], wasm_i32x4_shuffle(odd, odd, 0, 0, 0, 0));
    add(weights[2], wasm_i32x4_shuffle(even, even, 1, 1, 1, 1));
    add(weights[3], wasm_i32x4_shuffle(odd, odd, 1, 1, 1, 1));
    add(weights[4], wasm_i32x4_shuffle(even, even, 2, 2, 2, 2));
    add(weights[5], wasm_i32x4_shuffle(odd, odd, 2, 2, 2, 2));
    add(weights[6], wasm_i32x4_shuffle(even, even, 3, 3, 3, 3));
    add(weights[7], wasm_i32x4_shuffle(odd, odd, 3, 3, 3, 3));
    return sum;
  }
};

}  // namespace

constinit const MatrixKernels kInt4 = generic::make_int4_kernels<Int4Vector<Dot>>();

}  // namespace sotto::simd128
