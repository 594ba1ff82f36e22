// AVX-512 with VNNI, whose vpdpbusd multiplies int8 in attention.
#pragma once

#include "kernels/avx512/avx512.h"

namespace sotto::avx512vnni {

void attention(const AttentionArgs& args);

constexpr Kernels make_table() {
  Kernels table = avx512::kTable;
  table.isa = Isa::kAvx512Vnni;
  table.attention = attention;
  return table;
}

inline constexpr Kernels kTable = make_table();

}  // namespace sotto::avx512vnni
