// GPT-2 in float32, as the equations have it (Radford et al. 2019): what quantized models
// are measured against. All arrays are row-major, one row a token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "converters/readers/float_model.h"

namespace sotto {

struct FloatBlockActivations {
  std::vector<float> attention_input;      // (token, embedding), after the first norm
  std::vector<float> queries_keys_values;  // (token, 3 embedding)
  std::vector<float> attention;            // (token, embedding), heads side by side
  std::vector<float> attention_projected;  // (token, embedding)
  std::vector<float> attention_sum;        // (token, embedding), the residual stream after it
  std::vector<float> feed_forward_input;   // (token, embedding), after the second norm
  std::vector<float> feed_forward_up;      // (token, feed_forward)
  std::vector<float> feed_forward_hidden;  // (token, feed_forward), after the activation
  std::vector<float> feed_forward_down;    // (token, embedding)
  std::vector<float> output;               // (token, embedding), the residual stream after it
};

struct FloatActivations {
  std::vector<float> embedding;  // (token, embedding)
  std::vector<FloatBlockActivations> blocks;
  std::vector<float> final_norm;  // (token, embedding)
};

// Logits (token, vocabulary) of a window that starts at position 0. Throws
// std::invalid_argument unless it holds 1 ... position_count tokens, all of them in the
// vocabulary. `activations` may be null.
std::vector<float> float_forward(const FloatModel& model, std::span<const int32_t> tokens, unsigned thread_count = 1,
                                 FloatActivations* activations = nullptr);

}  // namespace sotto
