// Merges LoRA adapters as PEFT saves them: adapter_config.json with adapter_model.safetensors or adapter_model.bin. A
// weight W becomes W + scale * alpha / rank * B A (Hu et al. 2021, arXiv:2106.09685), with the square root of the rank
// for rsLoRA (Kalajdzievski 2023, arXiv:2312.03732).
#pragma once

#include <functional>
#include <string>

#include "converters/readers/checkpoint.h"
#include "converters/tensors/tensors.h"

namespace sotto {

// Changes the tensors that the adapter has trained, and replaces those that it has saved as a whole. `inputs_first`
// returns whether a tensor is (inputs, outputs); PEFT's fan_in_fan_out says the same. Throws std::runtime_error, which
// names the file, for adapters that are not a LoRA, or that do not fit the checkpoint.
void merge_adapter(const Adapter& adapter, const std::function<bool(const std::string& name)>& inputs_first,
                   Tensors& tensors);

}  // namespace sotto
