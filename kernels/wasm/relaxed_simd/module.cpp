// The second module of the npm package (platforms/javascript): a row of the kernel table, in the memory and the table
// of functions of the main module.
#include "kernels/dispatch/cpu_features.h"
#include "kernels/dispatch/tables.h"

namespace {
constinit const sotto::InstructionSet kRow = {&sotto::relaxed_simd::kOps, &sotto::relaxed_simd::kInt8,
                                              &sotto::relaxed_simd::kInt4};
}

// Returns null if this engine computes other results.
extern "C" __attribute__((export_name("kernels"))) const sotto::InstructionSet* kernels() {
  return sotto::relaxed_simd_is_exact() ? &kRow : nullptr;
}
