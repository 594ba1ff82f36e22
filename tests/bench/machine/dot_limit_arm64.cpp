// AArch64, compiled for all of its extensions: smmla with i8mm, sdot with dotprod, else smull,
// smlal and sadalp.
#include <arm_neon.h>

#include "tests/bench/machine/dot_limit.h"

namespace sotto::bench {
namespace {

// Enough independent sums to hide the instructions' latency.
constexpr size_t kSums = 16;

// Adds products of a and b, which the compiler must take for unknown, to each sum.
template <typename Vector, typename Add>
void run(size_t iterations, Vector a, Vector b, Add add) {
  int32x4_t sums[kSums];
  for (auto& sum : sums) sum = vdupq_n_s32(0);
  for (size_t i = 0; i < iterations; ++i) {
    for (auto& sum : sums) {
      asm volatile("" : "+w"(a), "+w"(b));
      sum = add(sum, a, b);
    }
  }
  for (auto& sum : sums) asm volatile("" : : "w"(sum));
}

void run_neon_i8mm(size_t iterations) {
  run(iterations, vdupq_n_s8(3), vdupq_n_s8(5),
      [](int32x4_t sum, int8x16_t a, int8x16_t b) { return vmmlaq_s32(sum, a, b); });
}

void run_neon_dotprod(size_t iterations) {
  run(iterations, vdupq_n_s8(3), vdupq_n_s8(5),
      [](int32x4_t sum, int8x16_t a, int8x16_t b) { return vdotq_s32(sum, a, b); });
}

void run_neon(size_t iterations) {
  run(iterations, vdup_n_s8(3), vdup_n_s8(5),
      [](int32x4_t sum, int8x8_t a, int8x8_t b) { return vpadalq_s16(sum, vmlal_s8(vmull_s8(a, b), a, b)); });
}

}  // namespace

DotLoop dot_loop(sotto_isa isa) {
  switch (isa) {
    case SOTTO_ISA_NEON_I8MM:
      return {run_neon_i8mm, kSums * 32};
    case SOTTO_ISA_NEON_DOTPROD:
      return {run_neon_dotprod, kSums * 16};
    case SOTTO_ISA_NEON:
      return {run_neon, kSums * 16};
    default:
      return scalar_dot_loop();
  }
}

DotLoop tile_loop(sotto_isa) { return {nullptr, 0}; }

}  // namespace sotto::bench
