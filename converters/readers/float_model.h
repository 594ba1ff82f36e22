// A GPT-2 checkpoint in memory, float32: what every reader produces and the quantizer
// consumes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sotto {

struct ModelShape {
  uint32_t vocabulary_size = 0;
  uint32_t position_count = 0;
  uint32_t embedding_size = 0;
  uint32_t head_count = 0;
  uint32_t feed_forward_size = 0;
  uint32_t layer_count = 0;
};

enum class Activation : uint8_t { kGeluTanh = 0, kGeluErf = 1 };

// y = x W^T + b
struct FloatLinear {
  uint32_t inputs = 0;
  uint32_t outputs = 0;
  std::vector<float> weights;  // (outputs, inputs)
  std::vector<float> bias;     // (outputs); empty: zero
};

struct FloatNorm {
  std::vector<float> gain;  // (embedding)
  std::vector<float> bias;  // (embedding)
};

struct FloatLayer {
  FloatNorm attention_norm;
  FloatLinear attention_qkv;
  FloatLinear attention_output;
  FloatNorm feed_forward_norm;
  FloatLinear feed_forward_up;
  FloatLinear feed_forward_down;
};

struct FloatModel {
  std::string name;
  std::string source;
  ModelShape shape;
  Activation activation = Activation::kGeluTanh;
  float norm_epsilon = 1e-5f;
  int32_t end_of_text_token = -1;
  std::vector<float> positions;        // (position, embedding)
  std::vector<float> token_embedding;  // (vocabulary, embedding)
  std::vector<FloatLayer> layers;
  FloatNorm final_norm;
  std::optional<FloatLinear> head;  // nullopt: tied to token_embedding
};

}  // namespace sotto
