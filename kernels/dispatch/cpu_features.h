// Detects what the CPU and its operating system support.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace sotto {

constexpr uint32_t isa_bit(Isa isa) { return uint32_t{1} << static_cast<int32_t>(isa); }

// Returns the isa_bit() of every instruction set that can run here, which always include kReference. Queries the CPU on
// each call.
uint32_t supported_isas();

// Returns whether the CPU has AVX-VNNI, which is vpdpbusd in 256 bits.
bool has_avx_vnni();

// Prepares this process to run `isa`, one of supported_isas(). Returns false if the operating system denies it. Only
// kAvx512Amx needs preparation: permission to use the tile registers, which holds for the rest of the process.
bool enable_isa(Isa isa);

}  // namespace sotto
