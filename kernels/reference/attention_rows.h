// Attention of consecutive queries, one at a time, for instruction sets without a faster method.
#pragma once

#include "kernels/kernels.h"

namespace sotto::reference {

template <void (*kAttention)(const AttentionArgs& args)>
void attention_rows(const AttentionRowsArgs& args) {
  for (size_t row = 0; row < args.row_count; ++row) {
    const SlotSpan span = {0, static_cast<uint32_t>(args.slots_of(row))};
    kAttention({.query = args.queries + row * args.query_stride,
                .keys = args.keys,
                .key_scales = args.key_scales,
                .values = args.values,
                .value_scales = args.value_scales,
                .head_size = args.head_size,
                .row_stride = args.row_stride,
                .score_scale = args.score_scale,
                .spans = &span,
                .span_count = 1,
                .scores = args.scores,
                .output = args.outputs + row * args.output_stride});
  }
}

}  // namespace sotto::reference
