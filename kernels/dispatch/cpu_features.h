// Detects what the CPU and its operating system support.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace sotto {

constexpr uint32_t isa_bit(Isa isa) { return uint32_t{1} << static_cast<int32_t>(isa); }

// Returns the isa_bit() of every instruction set that can run here, which always includes kReference. Each call queries
// the CPU.
uint32_t supported_isas();

// Returns whether the CPU has AVX-VNNI, the 256-bit form of vpdpbusd.
bool has_avx_vnni();

// Returns whether relaxed SIMD, in a build for WebAssembly with it, gives the results that the kernels need here: its
// multiplication and addition rounds once, and its dot product is that of the integers.
bool relaxed_simd_is_exact();

// Requests permission for this process to use the tile registers of AMX. Since version 5.16, Linux saves them only for
// processes that have it.
bool request_tiles();

}  // namespace sotto
