// The kernels of 4-bit weights of arm64.
#include "kernels/linear/int4_linear.h"

namespace sotto {

const Int4Kernels* built_int4_kernels(Isa isa) {
  switch (isa) {
    case Isa::kNeon:
      return &neon::kInt4Kernels;
    case Isa::kNeonDotprod:
    case Isa::kNeonI8mm:
      return &neon_dotprod::kInt4Kernels;
    default:
      return nullptr;
  }
}

}  // namespace sotto
