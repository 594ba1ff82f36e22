// The tensors of a checkpoint by name, from one file or from several shards that an index lists.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "converters/tensors/tensor_file.h"

namespace sotto {

// Returns whether `path` is a file that begins like one of the formats of open_tensor_file().
bool is_tensor_file(const std::filesystem::path& path);

// Opens a file of tensors in any of the supported formats. Throws std::runtime_error if it is damaged.
std::shared_ptr<const TensorFile> open_tensor_file(const std::filesystem::path& path);

// The tensors of all shards. Readers may rename them, replace them, or change their values while they are read.
class Tensors {
 public:
  Tensors() = default;
  explicit Tensors(const std::shared_ptr<const TensorFile>& file);
  // Opens the shards that an index such as model.safetensors.index.json lists.
  static Tensors from_index(const std::filesystem::path& index);

  bool contains(const std::string& name) const { return places_.count(name) != 0; }
  std::vector<std::string> names() const;
  // The next functions throw std::runtime_error if the tensor is missing.
  const TensorEntry& entry(const std::string& name) const;
  std::vector<float> read(const std::string& name, uint64_t first, uint64_t count) const;
  // Returns the name of the file and of the tensor in the file, for messages.
  std::string where(const std::string& name) const;

  // Renames each tensor to the result of `rename`, and removes the tensor if the result is empty.
  void rename(const std::function<std::string(const std::string& name)>& rename);
  // Adds a tensor of `other`, or replaces the one of this name.
  void replace(const std::string& name, const Tensors& other, const std::string& other_name);
  // Registers a function that read() calls to change values of a tensor: its elements [first, first + values.size()).
  using Change = std::function<void(uint64_t first, std::span<float> values)>;
  void change(const std::string& name, Change change);

 private:
  struct Place {
    std::shared_ptr<const TensorFile> file;
    std::string name;  // in the file
    std::vector<Change> changes;
  };
  const Place& place_of(const std::string& name) const;

  std::filesystem::path path_;  // of the file or the index
  std::map<std::string, Place> places_;
};

}  // namespace sotto
