// config.json of a Hugging Face GPT-2 checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "converters/readers/float_model.h"

namespace sotto {

struct HuggingFaceConfig {
  std::string name;  // "_name_or_path", may be empty
  ModelShape shape;
  Activation activation = Activation::kGeluTanh;
  float norm_epsilon = 1e-5f;
  int32_t end_of_text_token = -1;
  bool tie_word_embeddings = true;
  bool scale_attention = true;                    // by 1/sqrt(head_size)
  bool scale_attention_by_inverse_layer = false;  // by 1/(layer + 1) as well
  std::vector<std::string> notes;                 // what the user should know but need not change
};

// What is absent has the value transformers' GPT2Config gives it. Throws
// std::runtime_error for anything the runtime could not reproduce.
HuggingFaceConfig read_hugging_face_config(const std::filesystem::path& path);

}  // namespace sotto
