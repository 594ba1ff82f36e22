// Reads safetensors files. The header is validated before any tensor is read. Errors are std::runtime_error and name
// the file, the tensor and the byte offset.
#pragma once

#include <filesystem>

#include "converters/tensors/tensor_file.h"

namespace sotto {

// Returns whether `path` is a file that begins like safetensors.
bool is_safetensors(const std::filesystem::path& path);

class SafetensorsFile final : public TensorFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
};

}  // namespace sotto
