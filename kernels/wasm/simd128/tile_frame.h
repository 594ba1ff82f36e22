// The sums, scales and biases of a tile of 8 columns, and functions that compute and store its outputs.
#pragma once

#include "kernels/linear/int8.h"
#include "kernels/wasm/simd128/vector.h"

namespace sotto::SOTTO_ISA {
namespace {

// Replaces denormals by zeros of the same sign, as the definition of the layers requires (kernels/linear/linear.h).
// WebAssembly lacks the mode of the floating-point unit that does this on x86 and ARM.
inline v128_t flush(v128_t x) {
  const v128_t is_denormal = wasm_f32x4_lt(wasm_f32x4_abs(x), wasm_f32x4_splat(FLT_MIN));
  return wasm_v128_andnot(x, wasm_v128_and(is_denormal, wasm_i32x4_splat(0x7fffffff)));
}

struct TileOutputs {
  v128_t v[2];
};

class TileFrame {
 public:
  static constexpr size_t kColumns = 8;

  // `end` is where the weights end.
  TileFrame(const uint8_t* tile, const uint8_t* end) {
    for (size_t half = 0; half < 2; ++half) {
      minus_sums_[half] = wasm_v128_load(tile + 16 * half);
      scales_[half] = flush(wasm_v128_load(end + 16 * half));
      biases_[half] = flush(wasm_v128_load(end + 32 + 16 * half));
    }
  }

  // Converts the sums of a row of activations to outputs.
  TileOutputs finish(v128_t first, v128_t second, const RowQuantization& quantization) const {
    const v128_t sums[2] = {first, second};
    const v128_t zero_point = wasm_i32x4_splat(quantization.zero_point);
    const v128_t scale = flush(wasm_f32x4_splat(quantization.scale));
    TileOutputs outputs;
    for (size_t half = 0; half < 2; ++half) {
      const v128_t dots = wasm_i32x4_add(sums[half], wasm_i32x4_mul(minus_sums_[half], zero_point));
      const v128_t scaled = flush(wasm_f32x4_mul(wasm_f32x4_convert_i32x4(dots), scale));
      outputs.v[half] = flush(fma(scaled, scales_[half], biases_[half]));
    }
    return outputs;
  }

 private:
  v128_t minus_sums_[2];
  v128_t scales_[2];
  v128_t biases_[2];
};

// Stores the first `columns` outputs, or all if there are fewer.
inline void store_columns(float* y, size_t columns, TileOutputs outputs) {
  float values[TileFrame::kColumns];
  const bool is_whole = columns >= TileFrame::kColumns;
  float* to = is_whole ? y : values;
  wasm_v128_store(to, outputs.v[0]);
  wasm_v128_store(to + 4, outputs.v[1]);
  for (size_t i = 0; !is_whole && i < columns; ++i) y[i] = values[i];
}

}  // namespace
}  // namespace sotto::SOTTO_ISA
