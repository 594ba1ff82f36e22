// Architectures without kernels of their own.
#include "kernels/linear/int4_linear.h"

namespace sotto {

const Int4Kernels* built_int4_kernels(Isa) { return nullptr; }

}  // namespace sotto
