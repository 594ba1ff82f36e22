// arm64 Linux and Android: the kernel's hardware capabilities.
#include <sys/auxv.h>

#include "kernels/dispatch/cpu_features.h"

namespace sotto {
namespace {

// As in <asm/hwcap.h>, which old headers lack in part.
constexpr unsigned long kHwcapDotProduct = 1ul << 20;
constexpr unsigned long kHwcap2Int8Matmul = 1ul << 13;

}  // namespace

uint32_t supported_isas() {
  uint32_t isas = isa_bit(Isa::kReference) | isa_bit(Isa::kNeon);
  if ((getauxval(AT_HWCAP) & kHwcapDotProduct) == 0) return isas;
  isas |= isa_bit(Isa::kNeonDotprod);
  if ((getauxval(AT_HWCAP2) & kHwcap2Int8Matmul) != 0) isas |= isa_bit(Isa::kNeonI8mm);
  return isas;
}

bool may_use(Isa) { return true; }

}  // namespace sotto
