// What the CPU and its operating system support.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace sotto {

constexpr uint32_t isa_bit(Isa isa) { return uint32_t{1} << static_cast<int32_t>(isa); }

// The isa_bit of every instruction set that can run here, kReference always among them.
// One file an architecture; asks the CPU each time.
uint32_t supported_isas();

// Whether a CPU that has kAvx2 also multiplies int8 by vpdpbusd, without AVX-512. Only of x86-64.
bool has_avx_vnni();

// Whether the operating system lets this process run one of them; kAvx512Amx is asked for here.
bool may_use(Isa isa);

}  // namespace sotto
