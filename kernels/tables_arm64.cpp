// The tables of arm64. Nothing here multiplies matrices, so i8mm uses dotprod's functions.
#include "kernels/neon/neon.h"
#include "kernels/neon_dotprod/neon_dotprod.h"
#include "kernels/reference/reference.h"
#include "kernels/tables.h"

namespace sotto {
namespace {

constexpr Kernels i8mm_table() {
  Kernels table = neon_dotprod::kTable;
  table.isa = Isa::kNeonI8mm;
  return table;
}

constexpr Kernels kI8mmTable = i8mm_table();

}  // namespace

const Kernels* built_table(Isa isa) {
  switch (isa) {
    case Isa::kReference: return &reference::kTable;
    case Isa::kNeon: return &neon::kTable;
    case Isa::kNeonDotprod: return &neon_dotprod::kTable;
    case Isa::kNeonI8mm: return &kI8mmTable;
    default: return nullptr;
  }
}

}  // namespace sotto
