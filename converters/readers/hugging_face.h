// Reads a GPT-2 checkpoint as Hugging Face transformers saves it: a directory with
// config.json and safetensors.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "converters/readers/checkpoint.h"
#include "converters/readers/hugging_face_config.h"
#include "converters/readers/safetensors.h"

namespace sotto {

class HuggingFaceCheckpoint final : public Checkpoint {
 public:
  // Checks that every tensor is there with the right shape and type.
  explicit HuggingFaceCheckpoint(const std::filesystem::path& directory);

  std::vector<float> positions() const override;
  std::vector<float> token_embedding() const override;
  FloatLayer layer(uint32_t index) const override;
  FloatNorm final_norm() const override;
  FloatLinear head() const override;

  // What the user should know, such as tensors that are left out.
  const std::vector<std::string>& notes() const { return notes_; }

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
  std::string prefix_;              // "transformer." or ""
  std::vector<std::string> known_;  // names of the tensors that are used
  std::vector<std::string> notes_;
};

}  // namespace sotto
