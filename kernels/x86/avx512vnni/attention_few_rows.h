// A part of attention_rows(), which is faster up to kFewRows.
#pragma once

#include "kernels/kernels.h"

namespace sotto::avx512vnni {

inline constexpr size_t kFewRows = 12;
static_assert(kFewRows <= kAttentionGroupRows);

void attention_few_rows(const AttentionRowsArgs& args);

}  // namespace sotto::avx512vnni
