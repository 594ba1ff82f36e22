// Architectures without kernels of their own.
#include "kernels/dispatch/cpu_features.h"

namespace sotto {

uint32_t supported_isas() { return isa_bit(Isa::kReference); }

bool may_use(Isa) { return true; }

}  // namespace sotto
