// The operations of kernels/generic with the fused multiplication of relaxed SIMD, and attention with its int8 dot
// product.
//
// One operand of the dot product must be from 0 to 127: the magnitudes of the query. Where an element of the query is
// negative, the bits of the keys are inverted instead. Because ~k = -k - 1, the sum is then too small by the magnitudes
// of these elements, which its initial value corrects.
#include "kernels/dispatch/tables.h"
#include "kernels/generic/attention.h"
#include "kernels/generic/table.h"
#include "kernels/reference/attention_rows.h"
#include "kernels/wasm/simd128/dots.h"
#include "kernels/wasm/simd128/vector.h"

namespace sotto::relaxed_simd {
namespace {

class SignedQuery {
 public:
  SignedQuery(const int8_t* query, size_t row_stride) {
    int32_t missing = 0;
    for (size_t i = 0; i < row_stride; ++i) {
      signs_[i] = query[i] < 0 ? -1 : 0;
      magnitudes_[i] = static_cast<int8_t>(query[i] < 0 ? -query[i] : query[i]);
      missing -= query[i] < 0 ? query[i] : 0;
    }
    start_ = wasm_i32x4_make(missing, 0, 0, 0);
  }
  v128_t start() const { return start_; }
  v128_t add(v128_t sum, size_t at, v128_t key) const {
    const v128_t inverted = wasm_v128_xor(key, wasm_v128_load(signs_ + at));
    return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(inverted, wasm_v128_load(magnitudes_ + at), sum);
  }

 private:
  alignas(16) int8_t signs_[kMaxHeadSize];
  alignas(16) int8_t magnitudes_[kMaxHeadSize];
  v128_t start_;
};

void attention(const AttentionArgs& args) { generic::attention<Vector, Dots<SignedQuery>>(args); }

}  // namespace

constinit const Kernels kOps =
    generic::make_table<Vector>(Isa::kRelaxedSimd, attention, reference::attention_rows<attention>);

}  // namespace sotto::relaxed_simd
