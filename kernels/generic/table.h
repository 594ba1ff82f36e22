// The table of an instruction set: the generic ops over its vectors `V` and its
// columns, and its attention.
#pragma once

#include "kernels/dispatch/op_choice.h"
#include "kernels/generic/elementwise.h"
#include "kernels/generic/gelu.h"
#include "kernels/generic/layer_norm.h"
#include "kernels/generic/min_hash.h"
#include "kernels/generic/quantize.h"
#include "kernels/generic/reweigh.h"
#include "kernels/generic/slices.h"
#include "kernels/generic/softmax.h"
#include "kernels/generic/tournament.h"
#include "kernels/generic/weights.h"
#include "kernels/kernels.h"

namespace sotto::generic {

template <class V, class Columns>
constexpr Kernels make_table(Isa isa, void (*attention)(const AttentionArgs& args),
                             void (*attention_rows)(const AttentionRowsArgs& args)) {
  return {
      .isa = isa,
      .layer_norm = layer_norm<V>,
      .quantize_row = quantize_row<V>,
      .quantize_symmetric = quantize_symmetric<V>,
      .gelu_tanh = gelu_tanh<V>,
      .gelu_erf = gelu_erf<V>,
      .add = add<V>,
      .embed = embed<V>,
      .attention = attention,
      .attention_rows = attention_rows,
      .max = max<V>,
      .argmax = argmax<V>,
      .exp_shifted = exp_shifted<V>,
      .exp_weights = exp_weights<V>,
      .exp_shares = kHasSamplerOps || kHasWatermarkOps ? exp_shares<V> : nullptr,
      .keep_from = keep_from<V>,
      .split = split<V>,
      .nearness = kHasSamplerOps ? nearness<V> : nullptr,
      .sum_gaps = sum_gaps<V>,
      .sum_bends = kHasSamplerOps ? sum_bends<V> : nullptr,
      .sum_bends_twice = kHasSamplerOps ? sum_bends_twice<V> : nullptr,
      .sum_finite = sum_finite<V>,
      .smooth = smooth<V>,
      .aim = aim<V>,
      .surprises = kHasSamplerOps ? surprises<V> : nullptr,
      .collect_below = collect_below<V>,
      .mix_words = mix_words<V>,
      .mix_and_add = kHasWatermarkOps ? mix_and_add<V> : nullptr,
      .scale_by_bits = kHasWatermarkOps ? scale_by_bits<V> : nullptr,
      .scale_and_add = kHasWatermarkOps ? scale_and_add<V> : nullptr,
      .collect_by_bits = kHasWatermarkOps ? collect_by_bits<V> : nullptr,
      .slice_numbers = kHasSamplerOps ? slice_numbers<V> : nullptr,
      .move_to_columns = kHasSamplerOps ? move_to_columns<V> : nullptr,
      .sort_columns = kHasSamplerOps ? sort_columns<Columns> : nullptr,
      .sum_column_bends = sum_column_bends_or_null<Columns>(),
      .min_hash = kHasWatermarkOps ? min_hash<V> : nullptr,
  };
}

}  // namespace sotto::generic
