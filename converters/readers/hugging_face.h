// Reads a GPT-2 checkpoint in the format of Hugging Face transformers: a directory with config.json and safetensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "converters/readers/checkpoint.h"
#include "converters/readers/safetensors.h"

namespace sotto {

// The contents of config.json.
struct HuggingFaceConfig {
  std::string name;  // "_name_or_path"; may be empty
  ModelShape shape;
  Activation activation = Activation::kGeluTanh;
  float norm_epsilon = 1e-5f;
  int32_t end_of_text_token = -1;
  bool tie_word_embeddings = true;
  bool scale_attention = true;                    // scores are multiplied by 1/sqrt(head_size)
  bool scale_attention_by_inverse_layer = false;  // scores are also multiplied by 1/(layer + 1)
  std::vector<std::string> notes;                 // remarks for the user
};

// Absent members have the defaults of transformers' GPT2Config. Throws std::runtime_error for anything that the runtime
// cannot reproduce.
HuggingFaceConfig read_hugging_face_config(const std::filesystem::path& path);

extern const CheckpointFormat kHuggingFaceFormat;

class HuggingFaceCheckpoint final : public Checkpoint {
 public:
  // Checks that every tensor exists and has the right shape and type.
  explicit HuggingFaceCheckpoint(const std::filesystem::path& directory);

  std::vector<float> positions() const override;
  std::vector<float> token_embedding() const override;
  FloatLayer layer(uint32_t index) const override;
  FloatNorm final_norm() const override;
  FloatLinear head() const override;

 private:
  using Shape = std::vector<uint64_t>;

  std::string layer_name(uint32_t index, const char* part) const;
  void check_tensor(const std::string& name, const Shape& shape);
  void check_linear(const std::string& name, uint64_t inputs, uint64_t outputs);
  void check_norm(const std::string& name);
  void check_tensors();
  void note_unknown_tensors();
  HeadKind find_head_kind();
  bool head_equals_embedding() const;

  std::vector<float> read(const std::string& name) const;
  FloatLinear read_linear(const std::string& name) const;
  FloatNorm read_norm(const std::string& name) const;
  void fold_query_scale(uint32_t index, FloatLinear& qkv) const;

  SafetensorsDirectory tensors_;
  HuggingFaceConfig config_;
  std::string prefix_;              // either "transformer." or empty
  std::vector<std::string> known_;  // names of the tensors that are used
};

}  // namespace sotto
