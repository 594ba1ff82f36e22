// Reads checkpoints of nanoGPT (ckpt.pt) and minGPT (model.pt with config.json), which share GPT-2's names but keep
// linear weights as (outputs, inputs).
#pragma once

#include "converters/readers/checkpoint.h"

namespace sotto {

extern const CheckpointFormat kNanoGptFormat;
extern const CheckpointFormat kMinGptFormat;

}  // namespace sotto
