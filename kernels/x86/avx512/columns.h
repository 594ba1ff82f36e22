// The columns of a tile, for layers whose tiles have 16 outputs: those with 4-bit weights, and int8 ones with VNNI or
// AMX. kernels/generic/vector.h explains the unnamed namespace.
#pragma once

#include <immintrin.h>

#include "kernels/linear/matrix_kernels.h"

namespace sotto::SOTTO_ISA {
namespace {

// Returns the mask of those columns of a tile that the layer has.
inline __mmask16 columns_of(const LinearArgs& args, size_t tile) {
  constexpr size_t kColumns = 16;
  const size_t rest = args.outputs - tile * kColumns;
  return static_cast<__mmask16>(rest >= kColumns ? 0xffff : (1u << rest) - 1);
}

}  // namespace
}  // namespace sotto::SOTTO_ISA
