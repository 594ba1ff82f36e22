// Reads GGUF files, the container of ggml and llama.cpp, in versions 2 and 3: named values, then named tensors. All of
// it is validated before any tensor is read. Errors are std::runtime_error and name the file, the key or the tensor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "converters/tensors/tensor_file.h"

namespace sotto {

class GgufFile final : public TensorFile {
 public:
  explicit GgufFile(const std::filesystem::path& path);

  // The named values, an object. Arrays of numbers that do not have 4 bytes are null: no key of interest is one.
  const nlohmann::json& values() const { return values_; }

 private:
  std::vector<float> decode(const TensorEntry& entry, uint64_t first, uint64_t count) const override;

  nlohmann::json values_ = nlohmann::json::object();
};

// Returns whether the file begins as GGUF does. False if there is no such file.
bool is_gguf(const std::filesystem::path& path);

}  // namespace sotto
