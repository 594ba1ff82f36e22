// The operations of kernels/generic over AVX-512 vectors, with the attention of each instruction set.
#include "kernels/dispatch/tables.h"
#include "kernels/generic/attention.h"
#include "kernels/generic/table.h"
#include "kernels/x86/avx512/vector.h"

namespace sotto::avx512 {

constinit const Kernels kTable =
    generic::make_table<Vector>(Isa::kAvx512, attention, generic::attention_rows<attention>);
constinit const Kernels kVnniTable =
    generic::make_table<Vector>(Isa::kAvx512Vnni, avx512vnni::attention, avx512vnni::attention_rows);
constinit const Kernels kAmxTable =
    generic::make_table<Vector>(Isa::kAvx512Amx, avx512vnni::attention, avx512amx::attention_rows);

}  // namespace sotto::avx512
