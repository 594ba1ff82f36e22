// Merges LoRA adapters saved by PEFT: adapter_config.json with adapter_model.safetensors or adapter_model.bin. A weight
// W becomes W + scale * alpha / rank * B A (Hu et al. 2021, arXiv:2106.09685). rsLoRA divides by the square root of the
// rank (Kalajdzievski 2023, arXiv:2312.03732).
#pragma once

#include <functional>
#include <string>

#include "converters/readers/checkpoint.h"
#include "converters/tensors/tensors.h"

namespace sotto {

// Adds the products of the adapter to the tensors, and replaces the tensors that it contains as a whole. `inputs_first`
// returns whether a tensor is stored as (inputs, outputs), which must agree with PEFT's fan_in_fan_out. Throws a
// std::runtime_error that names the file if the adapter is not a LoRA or does not fit the checkpoint.
void merge_adapter(const Adapter& adapter, const std::function<bool(const std::string& name)>& inputs_first,
                   Tensors& tensors);

}  // namespace sotto
