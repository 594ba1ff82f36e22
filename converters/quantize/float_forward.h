// GPT-2 in float32 (Radford et al. 2019), the reference for quantized models. All arrays are row-major, with one row
// per token. Every sum has a fixed order, and elementary functions come from kernels/, so that all machines and any
// number of threads give the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "converters/readers/checkpoint.h"

namespace sotto {

struct FloatBlockActivations {
  std::vector<float> attention_input;      // (token, embedding), after the first norm
  std::vector<float> queries_keys_values;  // (token, 3 embedding)
  std::vector<float> attention;            // (token, embedding), one head after the other
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

// Returns the input of the first layer, (token, embedding). Throws std::invalid_argument unless `tokens` are 1 to
// position_count tokens of the vocabulary.
std::vector<float> float_embedding(const FloatModel& model, std::span<const int32_t> tokens);

// Computes y = (x - mean) / sqrt(variance + epsilon) * gain + bias for each row (Ba et al. 2016).
std::vector<float> float_layer_norm(const std::vector<float>& x, const FloatNorm& norm, float epsilon);

// Returns the causal attention of queries, keys and values (token, 3 embedding) of a window: (token, embedding).
std::vector<float> float_attention(const std::vector<float>& qkv, const ModelShape& shape, unsigned thread_count);

// Computes one layer for a window x (token, embedding). Only the configuration of `model` is used.
FloatBlockActivations float_block(const FloatModel& model, const FloatLayer& layer, const std::vector<float>& x,
                                  unsigned thread_count);

// Returns the logits (token, vocabulary) of a window that starts at position 0. Throws std::invalid_argument unless the
// window holds 1 to position_count tokens of the vocabulary. `activations` may be null.
std::vector<float> float_forward(const FloatModel& model, std::span<const int32_t> tokens, unsigned thread_count = 1,
                                 FloatActivations* activations = nullptr);

}  // namespace sotto
