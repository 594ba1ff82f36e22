// The tables of x86-64.
#include "kernels/reference/reference.h"
#include "kernels/small_batch.h"
#include "kernels/tables.h"

namespace sotto {

const Kernels* built_table(Isa isa) {
  switch (isa) {
    case Isa::kReference:
      return &reference::kTable;
    case Isa::kAvx2:
      return &avx2::kTable;
    case Isa::kAvx512:
      return &avx512::kTable;
    case Isa::kAvx512Vnni:
      return &avx512::kVnniTable;
    default:
      return nullptr;
  }
}

SmallBatchFunction built_small_batch(Isa isa) {
  return isa == Isa::kAvx512Vnni ? &avx512vnni::multiply_small_batch : nullptr;
}

}  // namespace sotto
