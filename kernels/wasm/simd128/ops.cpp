// The operations of kernels/generic with SIMD128, and attention that widens int8 to int16.
#include "kernels/dispatch/tables.h"
#include "kernels/generic/attention.h"
#include "kernels/generic/table.h"
#include "kernels/reference/attention_rows.h"
#include "kernels/wasm/simd128/dots.h"
#include "kernels/wasm/simd128/vector.h"

namespace sotto::simd128 {
namespace {

class WideQuery {
 public:
  WideQuery(const int8_t* query, size_t row_stride) {
    for (size_t i = 0; i < row_stride; i += 8) wasm_v128_store(values_ + i, wasm_i16x8_load8x8(query + i));
  }
  static v128_t start() { return wasm_i32x4_splat(0); }
  v128_t add(v128_t sum, size_t at, v128_t key) const {
    const v128_t low = wasm_i32x4_dot_i16x8(wasm_v128_load(values_ + at), wasm_i16x8_extend_low_i8x16(key));
    const v128_t high = wasm_i32x4_dot_i16x8(wasm_v128_load(values_ + at + 8), wasm_i16x8_extend_high_i8x16(key));
    return wasm_i32x4_add(sum, wasm_i32x4_add(low, high));
  }

 private:
  alignas(16) int16_t values_[kMaxHeadSize];
};

void attention(const AttentionArgs& args) { generic::attention<Vector, Dots<WideQuery>>(args); }

}  // namespace

constinit const Kernels kOps =
    generic::make_table<Vector>(Isa::kSimd128, attention, reference::attention_rows<attention>);

}  // namespace sotto::simd128
