// Builds the table of an instruction set from the generic operations with its vectors `V` and its attention.
#pragma once

#include "kernels/generic/layers.h"
#include "kernels/generic/softmax.h"
#include "kernels/kernels.h"

namespace sotto::SOTTO_ISA::generic {

template <class V>
constexpr Kernels make_table(Isa isa, void (*attention)(const AttentionArgs& args),
                             void (*attention_rows)(const AttentionRowsArgs& args)) {
  return {
      .isa = isa,
      .layer_norm = layer_norm<V>,
      .quantize_row = quantize_row<V>,
      .quantize_symmetric = quantize_symmetric<V>,
#define SOTTO_ACTIVATION(value, function) function<V>,
      .activations = {SOTTO_ACTIVATIONS(SOTTO_ACTIVATION)},
#undef SOTTO_ACTIVATION
      .add = add<V>,
      .embed = embed<V>,
      .attention = attention,
      .attention_rows = attention_rows,
      .max = max<V>,
      .argmax = argmax<V>,
      .exp_shifted = exp_shifted<V>,
      .exp_weights = exp_weights<V>,
      .keep_from = keep_from<V>,
      .sum_and_collect = sum_and_collect<V>,
  };
}

}  // namespace sotto::SOTTO_ISA::generic
