// Architectures without kernels of their own.
#include "kernels/reference/reference.h"
#include "kernels/small_batch.h"
#include "kernels/tables.h"

namespace sotto {

const Kernels* built_table(Isa isa) {
  return isa == Isa::kReference ? &reference::kTable : nullptr;
}

SmallBatchFunction built_small_batch(Isa) { return nullptr; }

}  // namespace sotto
