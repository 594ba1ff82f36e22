// The tables of arm64.
#include "kernels/dispatch/tables.h"
#include "kernels/linear/packed_tiles.h"
#include "kernels/reference/reference.h"

namespace sotto {

const Kernels* built_table(Isa isa) {
  switch (isa) {
    case Isa::kReference:
      return &reference::kTable;
    case Isa::kNeon:
      return &neon::kTable;
    case Isa::kNeonDotprod:
      return &neon::kDotprodTable;
    case Isa::kNeonI8mm:
      return &neon::kI8mmTable;
    default:
      return nullptr;
  }
}

const TileKernels* built_tile_kernels(Isa) { return nullptr; }

}  // namespace sotto
