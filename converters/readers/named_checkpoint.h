// A reader for formats that store GPT-2 as named tensors. A format only describes their names and layout, and the
// reader validates and reads them. It also folds factors that the runtime does not have into the weights.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "converters/readers/checkpoint.h"
#include "converters/tensors/tensors.h"

namespace sotto {

// The order of the rows of a fused query, key and value layer.
enum class QkvOrder : uint8_t {
  kWhole,        // (3, heads, head size): all queries, all keys, all values
  kPerHead,      // (heads, 3, head size)
  kInterleaved,  // (heads, head size, 3)
};

// Names and layout of the tensors. In a name, "{}" stands for the number of a layer. A part NAME consists of the
// tensors NAME.weight and NAME.bias.
struct TensorMapping {
  std::string token_embedding;  // the name of a tensor
  std::string positions;        // the name of a tensor
  std::string attention_norm;
  std::vector<std::string> attention_qkv;  // one part, or separate parts for queries, keys and values
  std::string attention_output;
  std::string feed_forward_norm;
  std::string feed_forward_up;
  std::string feed_forward_down;
  std::string final_norm;
  std::string head;
  std::string score;                 // the tensor of a reward model's head, (rewards, embedding); empty if it has none
  std::vector<std::string> ignored;  // name suffixes of tensors that are not weights

  std::filesystem::path configuration;  // the file that gives the shape, for messages
  bool inputs_first = false;            // linear weights are (inputs, outputs), not (outputs, inputs)
  bool biases_are_optional = false;     // absent biases are zero
  QkvOrder qkv_order = QkvOrder::kWhole;
  std::optional<bool> ties_head;    // from the configuration; nullopt: the head is tied if it has no tensor
  uint32_t skipped_positions = 0;   // rows in front of the first position
  uint32_t vocabulary_padding = 0;  // rows after the last token, in the token embedding and the head
  double embedding_scale = 1;       // of the token embedding as an input, not as a tied head
  double position_scale = 1;
  double head_scale = 1;
  // Returns a factor of attention scores in addition to 1/sqrt(head size).
  std::function<double(uint32_t layer)> score_scale = [](uint32_t) { return 1.0; };
};

// Returns GPT-2's names in transformers, nanoGPT and minGPT; each begins with `prefix`.
TensorMapping gpt2_mapping(const std::string& prefix);
// Returns GPT-2's names in GGUF.
TensorMapping gguf_mapping();

// Returns the shape that the tensors have, except the number of heads, for formats without a configuration.
ModelShape find_shape(const Tensors& tensors, const TensorMapping& mapping);

// Sets the vocabulary size from the number of rows of the token embedding, for formats that do not record the padding.
// 50304 rows are taken for GPT-2's 50257 tokens padded to a multiple of 128; a note tells the user.
void set_vocabulary(uint32_t rows, CheckpointInfo& info, TensorMapping& mapping, std::vector<std::string>& notes);

// Replaces "{}" in the name of a part by the number of a layer.
std::string layer_name(const std::string& part, uint32_t index);

// Transposes (rows, columns) to (columns, rows) in square blocks that stay in the cache.
std::vector<float> transpose(const std::vector<float>& in, size_t rows, size_t columns);

class NamedCheckpoint final : public Checkpoint {
 public:
  // Checks that every tensor exists and has the right shape and type, and determines the kind of the head.
  NamedCheckpoint(CheckpointInfo info, std::vector<std::string> notes, Tensors tensors, TensorMapping mapping);

  std::vector<float> positions() const override;
  std::vector<float> token_embedding() const override;
  FloatLayer layer(uint32_t index) const override;
  FloatNorm final_norm() const override;
  FloatLinear head() const override;

 private:
  using Shape = std::vector<uint64_t>;

  uint32_t token_count() const { return info_.shape.vocabulary_size - info_.reward_count; }
  uint64_t embedding_rows() const { return uint64_t{token_count()} + mapping_.vocabulary_padding; }
  void check_tensor(const std::string& name, const Shape& shape);
  void check_bias(const std::string& name, uint64_t size);
  void check_linear(const std::string& name, uint64_t inputs, uint64_t outputs);
  void check_norm(const std::string& name);
  void check_tensors();
  void reject_other_models() const;
  void note_unknown_tensors();
  HeadKind find_head_kind();
  bool head_equals_embedding() const;

  std::vector<float> read(const std::string& name, uint64_t first, uint64_t count, double factor = 1) const;
  std::vector<float> read_bias(const std::string& name, uint32_t size) const;
  FloatLinear read_linear(const std::string& name, uint32_t inputs, uint32_t outputs) const;
  FloatLinear read_qkv(uint32_t index) const;
  FloatNorm read_norm(const std::string& name) const;
  void scale_queries(uint32_t index, FloatLinear& qkv) const;
  void scale(std::vector<float>& values, size_t count, double factor, const std::string& name) const;

  Tensors tensors_;
  TensorMapping mapping_;
  std::vector<std::string> known_;  // names of the tensors that are used
};

}  // namespace sotto
