// Detects what the CPU and its operating system support.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace sotto {

constexpr uint32_t isa_bit(Isa isa) { return uint32_t{1} << static_cast<int32_t>(isa); }

// Returns the union of isa_bit() over all instruction sets that can run here. They always include kReference. Each call
// queries the CPU.
uint32_t supported_isas();

// Returns whether the CPU has AVX-VNNI, the 256-bit form of vpdpbusd.
bool has_avx_vnni();

// For builds with relaxed SIMD: returns whether this engine gives the results that the kernels need. The fused
// multiplication and addition must round once, and the dot product must be exact.
bool relaxed_simd_is_exact();

// Requests permission for this process to use the tile registers of AMX, because Linux (since version 5.16) saves these
// registers only for processes with this permission. Returns whether it has been granted.
bool request_tiles();

}  // namespace sotto
