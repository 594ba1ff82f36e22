#include "runtime/model/model_counts.h"

#include <algorithm>

namespace sotto {

uint64_t count_parameters(const ModelView& view) {
  const ModelConfig& config = view.config();
  const uint64_t width = config.embedding_size;
  uint64_t count = width * config.position_count + 2 * width;
  for (size_t i = 0; i < view.linear_count(); ++i) {
    const LinearWeights linear = view.linear(i);
    // Tiles always contain biases, but only layers are certain to use them.
    const bool is_of_layer = i + 1 < view.linear_count();
    const bool has_bias = linear.tiles == nullptr ? linear.bias != nullptr : is_of_layer;
    count += uint64_t{linear.inputs} * linear.outputs + (has_bias ? linear.outputs : 0);
  }
  if (!view.has_tied_head()) count += width * config.vocabulary_size;
  return count + 4 * width * config.layer_count;
}

uint64_t count_weight_bytes(const ModelView& view) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < view.linear_count(); ++i) bytes += view.linear_bytes(i).size;
  return bytes;
}

uint32_t max_layer_weight_bits(const ModelView& view) {
  uint32_t bits = 0;
  for (size_t i = 0; i + 1 < view.linear_count(); ++i) bits = std::max(bits, weight_bits(view.linear(i)));
  return bits;
}

}  // namespace sotto
