// Reads checkpoints of Hugging Face transformers: config.json, and weights in safetensors or PyTorch's format, in one
// file or in shards. The models are GPT-2, and OPT and BioGPT, which fold exactly into GPT-2.
#pragma once

#include "converters/readers/checkpoint.h"

namespace sotto {

extern const CheckpointFormat kHuggingFaceFormat;

}  // namespace sotto
