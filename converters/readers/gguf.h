// Reads GPT-2 checkpoints in GGUF, the format of llama.cpp.
#pragma once

#include "converters/readers/checkpoint.h"
#include "converters/readers/named_checkpoint.h"

namespace sotto {

// Returns the names of the tensors. The configuration is empty.
TensorMapping gguf_mapping();

extern const CheckpointFormat kGgufFormat;

}  // namespace sotto
