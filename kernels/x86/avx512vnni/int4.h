// The 4-bit linear layers of AVX512-VNNI for small batches, which AMX uses too.
#pragma once

#include "kernels/linear/int4.h"

namespace sotto::avx512vnni {

void prepare_int4(const LinearArgs& args, size_t group);
void multiply_int4(const LinearArgs& args, size_t first_tile, size_t tile_count);

inline constexpr MatrixKernel kSmallInt4 = {
    .prepare = prepare_int4, .multiply = multiply_int4, .task_tiles = 4, .group_rows = kSmallBatchRows};

}  // namespace sotto::avx512vnni
