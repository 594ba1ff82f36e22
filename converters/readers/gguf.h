// Reads GPT-2 checkpoints in GGUF, the format of llama.cpp.
#pragma once

#include "converters/readers/checkpoint.h"

namespace sotto {

extern const CheckpointFormat kGgufFormat;

}  // namespace sotto
