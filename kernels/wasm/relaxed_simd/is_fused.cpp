#include <wasm_simd128.h>

#include "kernels/dispatch/cpu_features.h"

namespace sotto {

bool has_fused_madd() {
  // The square of 1 + 2^-12 ends with 2^-24, which a float next to 1 cannot hold.
  volatile float operand = 0x1.001p+0f, minus_rounded = -0x1.002p+0f;
  const v128_t a = wasm_f32x4_splat(operand);
  return wasm_f32x4_extract_lane(wasm_f32x4_relaxed_madd(a, a, wasm_f32x4_splat(minus_rounded)), 0) != 0;
}

}  // namespace sotto
