// SOTTO_FEATURE_INT4=OFF: models with such weights are refused when they are opened.
#include "kernels/linear/int4_linear.h"
#include "kernels/reference/int4.h"

namespace sotto {

bool int4_available() { return false; }
const Int4Kernels* built_int4_kernels(Isa) { return nullptr; }
void run_int4_linear(const Int4Kernels*, const Int4Args&, ThreadPool*) {}
void embed_int4(const Kernels&, const uint8_t*, size_t, size_t, const float*, float*) {}
void reference::multiply_int4(const Int4Args&, size_t, size_t) {}

}  // namespace sotto
