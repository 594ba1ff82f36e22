// AArch64, compiled for all of its extensions: smmla with i8mm, sdot with dotprod, else smull,
// smlal and sadalp.
#include <arm_neon.h>

#include "tests/bench/machine/dot_limit.h"

namespace sotto::bench {
namespace {

// Enough independent sums to hide the instructions' latency.
constexpr size_t kSums = 16;

void run_neon_i8mm(size_t iterations) {
  int32x4_t sums[kSums];
  for (auto& sum : sums) sum = vdupq_n_s32(0);
  int8x16_t a = vdupq_n_s8(3), b = vdupq_n_s8(5);
  for (size_t i = 0; i < iterations; ++i) {
    for (auto& sum : sums) {
      asm volatile("" : "+w"(a), "+w"(b));
      sum = vmmlaq_s32(sum, a, b);
    }
  }
  for (auto& sum : sums) asm volatile("" : : "w"(sum));
}

void run_neon_dotprod(size_t iterations) {
  int32x4_t sums[kSums];
  for (auto& sum : sums) sum = vdupq_n_s32(0);
  int8x16_t a = vdupq_n_s8(3), b = vdupq_n_s8(5);
  for (size_t i = 0; i < iterations; ++i) {
    for (auto& sum : sums) {
      asm volatile("" : "+w"(a), "+w"(b));
      sum = vdotq_s32(sum, a, b);
    }
  }
  for (auto& sum : sums) asm volatile("" : : "w"(sum));
}

void run_neon(size_t iterations) {
  int32x4_t sums[kSums];
  for (auto& sum : sums) sum = vdupq_n_s32(0);
  int8x8_t a = vdup_n_s8(3), b = vdup_n_s8(5);
  for (size_t i = 0; i < iterations; ++i) {
    for (auto& sum : sums) {
      asm volatile("" : "+w"(a), "+w"(b));
      sum = vpadalq_s16(sum, vmlal_s8(vmull_s8(a, b), a, b));
    }
  }
  for (auto& sum : sums) asm volatile("" : : "w"(sum));
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
