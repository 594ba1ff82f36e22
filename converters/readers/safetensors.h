// Reads safetensors files, and directories with one model.safetensors or shards with an index. A header is validated
// before any tensor is read. Errors are std::runtime_error and name the file, the tensor and the byte offset.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "converters/file.h"

namespace sotto {

enum class TensorType : uint8_t { kF16, kBf16, kF32, kF64, kOther };

struct TensorEntry {
  TensorType type = TensorType::kOther;
  std::string type_name;  // the name in the file, for example "BF16"
  std::vector<uint64_t> shape;
  uint64_t element_count = 0;
  uint64_t offset = 0;  // offset in the file
  uint64_t size = 0;
};

class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  const std::map<std::string, TensorEntry>& tensors() const { return tensors_; }
  // Returns elements [first, first + count) of a tensor as float32. Rejects types other than floats, and numbers that
  // are not finite in float32.
  std::vector<float> read(const std::string& name, uint64_t first, uint64_t count) const;

 private:
  void read_header();

  InputFile file_;
  std::map<std::string, TensorEntry> tensors_;
};

class SafetensorsDirectory {
 public:
  explicit SafetensorsDirectory(const std::filesystem::path& directory);

  bool contains(const std::string& name) const { return files_.count(name) != 0; }
  std::vector<std::string> names() const;
  // Throws if the tensor is missing.
  const TensorEntry& entry(const std::string& name) const;
  std::vector<float> read(const std::string& name, uint64_t first, uint64_t count) const;
  // Returns the name of the file and of the tensor for messages.
  std::string where(const std::string& name) const;

 private:
  void open_shards(const std::filesystem::path& index);
  const SafetensorsFile& file_of(const std::string& name) const;

  std::filesystem::path directory_;
  std::map<std::string, std::shared_ptr<const SafetensorsFile>> files_;  // the file of each tensor
};

}  // namespace sotto
