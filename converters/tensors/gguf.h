// Reads GGUF files, the container of ggml and llama.cpp, in versions 2 and 3: key-value pairs, then named tensors. The
// whole header is validated before any tensor is read. Errors are std::runtime_error and name the file, the key or the
// tensor.
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

  // Returns the key-value pairs as a JSON object. Arrays of numbers that do not have 4 bytes are null, because no key
  // of interest has one.
  const nlohmann::json& values() const { return values_; }

 private:
  std::vector<float> decode(const TensorEntry& entry, uint64_t first, uint64_t count) const override;

  nlohmann::json values_ = nlohmann::json::object();
};

// Returns whether `path` is a file that begins like GGUF.
bool is_gguf(const std::filesystem::path& path);

}  // namespace sotto
