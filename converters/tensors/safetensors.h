// Safetensors files. The header is validated before any tensor is read. Errors are std::runtime_error and name the
// file, the tensor and the byte offset.
#pragma once

#include <filesystem>

#include "converters/tensors/tensor_file.h"

namespace sotto {

// Returns whether a file begins like one in this format. False if there is no such file.
bool is_safetensors(const std::filesystem::path& path);

class SafetensorsFile final : public TensorFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
};

}  // namespace sotto
