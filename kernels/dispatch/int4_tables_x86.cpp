// The kernels of 4-bit weights of x86-64.
#include "kernels/linear/int4_linear.h"

namespace sotto {

const Int4Kernels* built_int4_kernels(Isa isa) {
  switch (isa) {
    case Isa::kAvx2:
      return &avx2::kInt4Kernels;
    case Isa::kAvx512:
      return &avx512::kInt4Kernels;
    case Isa::kAvx512Vnni:
    case Isa::kAvx512Amx:
      return &avx512vnni::kInt4Kernels;
    default:
      return nullptr;
  }
}

}  // namespace sotto
