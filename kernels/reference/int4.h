// Linear layers with 4-bit weights in scalar code: the definition of kernels/linear/int4_linear.h.
#pragma once

#include "kernels/linear/int4_linear.h"

namespace sotto::reference {

void multiply_int4(const Int4Args& args, size_t first_tile, size_t tile_count);

}  // namespace sotto::reference
