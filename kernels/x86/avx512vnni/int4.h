// The 4-bit linear layers of AVX512-VNNI for small batches, which AMX uses too.
#pragma once

#include "kernels/linear/int4.h"

namespace sotto::avx512vnni {

void prepare_int4(const Int4Args& args, size_t group);
void multiply_int4(const Int4Args& args, size_t first_tile, size_t tile_count);

inline constexpr Int4Batch kInt4Batch = {kSmallBatchRows, prepare_int4, multiply_int4, 4};

}  // namespace sotto::avx512vnni
