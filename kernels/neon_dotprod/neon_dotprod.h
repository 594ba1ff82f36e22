// NEON with the dot product instructions, for attention's int8.
#pragma once

#include "kernels/neon/neon.h"

namespace sotto::neon_dotprod {

void attention(const AttentionArgs& args);

constexpr Kernels make_table() {
  Kernels table = neon::kTable;
  table.isa = Isa::kNeonDotprod;
  table.attention = attention;
  return table;
}

inline constexpr Kernels kTable = make_table();

}  // namespace sotto::neon_dotprod
