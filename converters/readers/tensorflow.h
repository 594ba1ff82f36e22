// Reads the checkpoints of OpenAI's GPT-2 code and of gpt-2-simple: a directory with a TensorFlow checkpoint and
// hparams.json.
#pragma once

#include "converters/readers/checkpoint.h"

namespace sotto {

extern const CheckpointFormat kTensorFlowFormat;

}  // namespace sotto
