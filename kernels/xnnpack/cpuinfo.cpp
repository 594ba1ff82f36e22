// What XNNPACK needs of the library cpuinfo, from the detection of kernels/dispatch. cpuinfo itself reads files of
// /proc and /sys, and without them it prints messages and fails.
#include <cpuinfo.h>

#include "kernels/dispatch/cpu_features.h"

extern "C" {

struct cpuinfo_arm_isa cpuinfo_isa;  // cpuinfo_initialize() sets it, which XNNPACK calls once

bool cpuinfo_initialize() {
  const uint32_t isas = sotto::supported_isas();
  cpuinfo_isa.dot = (isas & sotto::isa_bit(sotto::Isa::kNeonDotprod)) != 0;
  cpuinfo_isa.i8mm = (isas & sotto::isa_bit(sotto::Isa::kNeonI8mm)) != 0;
  return true;
}

// Only kernels of convolutions, which are not used here, depend on the kind of core.
const struct cpuinfo_core* cpuinfo_get_core(uint32_t) {
  static constexpr struct cpuinfo_core kUnknown = {};
  return &kUnknown;
}

}  // extern "C"
