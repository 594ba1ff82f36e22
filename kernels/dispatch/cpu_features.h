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

// Returns whether the operating system lets this process use `isa`. For kAvx512Amx this requests permission.
bool may_use(Isa isa);

}  // namespace sotto
