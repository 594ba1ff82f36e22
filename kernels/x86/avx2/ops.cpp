// The operations of kernels/generic over AVX2 vectors.
#include "kernels/dispatch/tables.h"
#include "kernels/generic/attention.h"
#include "kernels/generic/table.h"
#include "kernels/x86/avx2/vector.h"

namespace sotto::avx2 {

constinit const Kernels kTable = generic::make_table<Vector>(Isa::kAvx2, attention, generic::attention_rows<attention>);

}  // namespace sotto::avx2
