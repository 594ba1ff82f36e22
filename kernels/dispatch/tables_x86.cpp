// The tables of x86-64.
#include "kernels/dispatch/cpu_features.h"
#include "kernels/dispatch/tables.h"
#include "kernels/linear/packed_tiles.h"
#include "kernels/reference/reference.h"

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
    case Isa::kAvx512Amx:
      return &avx512::kAmxTable;
    default:
      return nullptr;
  }
}

// CPUs with AVX-512 multiply here as those do that have AVX2 alone: XNNPACK's rule.
static const TileKernels* avx2_tile_kernels() {
  const bool has_avx512 = (supported_isas() & isa_bit(Isa::kAvx512)) != 0;
  return has_avx_vnni() && !has_avx512 ? &avxvnni::kTileKernels : &avx2::kTileKernels;
}

const TileKernels* built_tile_kernels(Isa isa) {
  switch (isa) {
    case Isa::kAvx2:
      return avx2_tile_kernels();
    case Isa::kAvx512:
      return &avx512::kTileKernels;
    case Isa::kAvx512Vnni:
      return &avx512vnni::kTileKernels;
    case Isa::kAvx512Amx:
      return &avx512amx::kTileKernels;
    default:
      return nullptr;
  }
}

}  // namespace sotto
