// Calibration: runs the float32 model over windows of tokens, and prepares each layer for quantization from the inputs
// that it receives. Outliers of the inputs are folded into the weights (migration.h). With CalibrationEffort::kFull,
// the second moments of the inputs also serve to compensate rounding errors (error_feedback.h). The model runs layer by
// layer: only one layer and the hidden states of the windows are in memory at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "converters/quantize/error_feedback.h"
#include "converters/readers/checkpoint.h"

namespace sotto {

// Tokens that the model evaluates together, from position 0.
using TokenWindow = std::vector<int32_t>;

enum class CalibrationEffort : uint8_t {
  kOutliers,  // scales channels by a formula; a short window of any tokens suffices, and the head gets no bias
  kFull,      // optimizes the scales, shifts channels and compensates rounding; the head gets a bias
};

// A layer that is ready for quantization. Without feedback, each weight is rounded to the nearest value.
struct CalibratedLayer {
  FloatLayer layer;
  std::optional<ErrorFeedback> qkv;
  std::optional<ErrorFeedback> output;
  std::optional<ErrorFeedback> up;
  std::optional<ErrorFeedback> down;
};

struct CalibratedHead {
  FloatNorm final_norm;
  FloatLinear head;
  std::optional<ErrorFeedback> feedback;
};

// Returns a short window of random tokens for CalibrationEffort::kOutliers. Outlier channels are large for nearly all
// tokens, so no text is needed. The window begins with the end-of-text token if the model has one.
TokenWindow random_tokens(const CheckpointInfo& info);

// Holds the hidden states of the windows at the input of the next layer.
class Calibration {
 public:
  // `windows` has at least one window, and each has at least one token of the vocabulary.
  Calibration(const Checkpoint& checkpoint, std::span<const TokenWindow> windows, CalibrationEffort effort,
              unsigned thread_count);

  // Returns the layers in order, once each.
  CalibratedLayer next_layer();
  // Returns the head; call it after the last layer. A tied head keeps its weights, because they are also the token
  // embeddings.
  CalibratedHead head();

 private:
  void migrate(FloatNorm& norm, FloatLinear& layer, std::vector<float>& x, std::span<const float> importance) const;
  std::optional<ErrorFeedback> feedback(std::vector<float>& inputs, size_t width, float damping) const;

  const Checkpoint& checkpoint_;
  CalibrationEffort effort_;
  unsigned thread_count_;
  FloatModel model_;  // without weights
  uint32_t next_layer_ = 0;
  std::vector<std::vector<float>> states_;  // (window) of (token, embedding)
};

}  // namespace sotto
