// Calibration: runs the float32 model over windows of tokens, layer by layer, and prepares each layer for quantization.
// Outliers of the inputs are folded into the weights (migration.h), and the inputs' second moments serve the
// compensation of rounding errors (error_feedback.h). Memory holds one layer and the hidden states of the windows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "converters/quantize/error_feedback.h"
#include "converters/readers/checkpoint.h"

namespace sotto {

// Tokens that the model evaluates together, from position 0.
using TokenWindow = std::vector<int32_t>;

struct CalibratedLayer {
  FloatLayer layer;
  ErrorFeedback qkv;
  ErrorFeedback output;
  ErrorFeedback up;
  ErrorFeedback down;
};

struct CalibratedHead {
  FloatNorm final_norm;
  FloatLinear head;
  ErrorFeedback feedback;
};

class Calibration {
 public:
  // `windows` has at least one window, and each has at least one token of the vocabulary.
  Calibration(const Checkpoint& checkpoint, std::span<const TokenWindow> windows, unsigned thread_count);

  // Returns the layers in order, once each.
  CalibratedLayer next_layer();
  // Must follow the last layer. A tied head keeps its weights, which are also the token embeddings, and gets a bias.
  CalibratedHead head();

 private:
  const Checkpoint& checkpoint_;
  unsigned thread_count_;
  FloatModel model_;  // without weights
  uint32_t next_layer_ = 0;
  std::vector<std::vector<float>> states_;  // (window) of (token, embedding)
};

}  // namespace sotto
