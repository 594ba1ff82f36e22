// Reads GPT checkpoints of Megatron-LM (model_optim_rng.pt) that are not split over devices, with the names of
// Megatron-LM, of Megatron Core or of Transformer Engine.
#pragma once

#include "converters/readers/checkpoint.h"

namespace sotto {

extern const CheckpointFormat kMegatronFormat;

}  // namespace sotto
