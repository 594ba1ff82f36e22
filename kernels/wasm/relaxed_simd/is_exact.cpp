#include <wasm_simd128.h>

#include <cstdint>

#include "kernels/dispatch/cpu_features.h"

namespace sotto {

bool relaxed_simd_is_exact() {
  // The square of 1 + 2^-12 ends with 2^-24, which a float next to 1 cannot hold.
  volatile float operand = 0x1.001p+0f, minus_rounded = -0x1.002p+0f;
  const v128_t a = wasm_f32x4_splat(operand);
  const float rest = wasm_f32x4_extract_lane(wasm_f32x4_relaxed_madd(a, a, wasm_f32x4_splat(minus_rounded)), 0);
  // V8's first compiler loses sums in Node.js 20, where relaxed SIMD is an experiment.
  volatile int8_t signed_bytes[] = {-128, -1, 127, 100}, seven_bits[] = {127, 127, 126, 3};
  volatile size_t count = 4;
  v128_t sums = wasm_i32x4_splat(rest != 0);
  int32_t expected = 1;
  for (size_t i = 0; i < count; ++i) {
    const int8_t byte = signed_bytes[i], other = seven_bits[i];
    sums = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(wasm_i8x16_splat(byte), wasm_i8x16_splat(other), sums);
    expected += 4 * byte * other;
  }
  return wasm_i32x4_extract_lane(sums, 0) == expected;
}

}  // namespace sotto
