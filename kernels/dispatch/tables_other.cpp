// Architectures without kernels of their own.
#include "kernels/dispatch/tables.h"
#include "kernels/linear/packed_tiles.h"
#include "kernels/reference/reference.h"

namespace sotto {

const Kernels* built_table(Isa isa) { return isa == Isa::kReference ? &reference::kTable : nullptr; }

const TileKernels* built_tile_kernels(Isa) { return nullptr; }

}  // namespace sotto
