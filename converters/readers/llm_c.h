// Reads checkpoints of llm.c: gpt2_124M.bin and the like.
#pragma once

#include "converters/readers/checkpoint.h"

namespace sotto {

extern const CheckpointFormat kLlmCFormat;

}  // namespace sotto
