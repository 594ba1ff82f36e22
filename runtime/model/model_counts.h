// Counts the parameters of a model and the sizes of its weights.
#pragma once

#include <cstdint>

#include "runtime/model/model_view.h"

namespace sotto {

uint64_t count_parameters(const ModelView& view);
// Returns the bytes of all linear layers in the file.
uint64_t count_weight_bytes(const ModelView& view);
// Returns the bits per weight.
inline uint32_t weight_bits(const LinearWeights& weights) { return weights.tiles == nullptr ? 8 : 4; }
// Returns the largest weight_bits() of the linear layers without the head.
uint32_t max_layer_weight_bits(const ModelView& view);

}  // namespace sotto
