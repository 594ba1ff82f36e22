// Apple silicon: sysctl.
#include <sys/sysctl.h>

#include <cstddef>

#include "kernels/dispatch/cpu_features.h"

namespace sotto {
namespace {

bool has(const char* name) {
  int value = 0;
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}

}  // namespace

uint32_t supported_isas() {
  uint32_t isas = isa_bit(Isa::kReference) | isa_bit(Isa::kNeon);
  if (!has("hw.optional.arm.FEAT_DotProd")) return isas;
  isas |= isa_bit(Isa::kNeonDotprod);
  if (has("hw.optional.arm.FEAT_I8MM")) isas |= isa_bit(Isa::kNeonI8mm);
  return isas;
}

bool may_use(Isa) { return true; }

}  // namespace sotto
