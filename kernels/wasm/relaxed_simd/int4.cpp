// 4-bit linear layers with the dot product of relaxed SIMD. The nibbles are its seven-bit operands.
#include "kernels/wasm/simd128/int4.h"
#include "kernels/dispatch/tables.h"

namespace sotto::relaxed_simd {
namespace {

struct Dot {
  struct Weights {
    v128_t bytes[8];  // four inputs per register

    explicit Weights(const uint8_t* nibbles) {
      const v128_t low = wasm_i8x16_splat(15);
#pragma GCC unroll 4
      for (size_t i = 0; i < 4; ++i) {
        const v128_t both = wasm_v128_load(nibbles + i * kInt4ChunkBytes);
        bytes[2 * i] = wasm_v128_and(both, low);
        bytes[2 * i + 1] = wasm_v128_and(wasm_u16x8_shr(both, 4), low);
      }
    }
  };

  static v128_t multiply(v128_t sum, const Weights& weights, const int8_t* q) {
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; ++i) {
      sum = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(wasm_v128_load32_splat(q + 4 * i), weights.bytes[i], sum);
    }
    return sum;
  }
};

}  // namespace

constinit const MatrixKernels kInt4 = generic::make_int4_kernels<Int4Vector<Dot>>();

}  // namespace sotto::relaxed_simd
