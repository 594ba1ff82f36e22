// Files written by PyTorch's torch.save(): zip archives (since version 1.6), and the older format of five pickles
// followed by the data. A tensor in nested dicts is named by its keys, joined by dots.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "converters/tensors/pickle.h"
#include "converters/tensors/tensor_file.h"
#include "converters/tensors/zip.h"

namespace sotto {

// Returns whether `path` is a file that begins like one of these formats.
bool is_pytorch(const std::filesystem::path& path);

// Returns a dict as a JSON object, in which values other than numbers, flags and texts are null. Returns {} if `dict`
// is not a dict.
nlohmann::json settings_of(const PickleValue& dict);

class PytorchFile final : public TensorFile {
 public:
  // Throws std::runtime_error if the file is damaged, refers to anything except tensors and plain data, or contains
  // tensors that reach outside their storage.
  explicit PytorchFile(const std::filesystem::path& path);

  // Returns the object that was saved.
  const PickleValue& root() const { return pickle_->root(); }

 private:
  // A range of the file that holds the elements of one or more tensors.
  struct Storage {
    uint64_t offset = 0;
    uint64_t size = 0;
  };

  void open_zip();
  void open_legacy();
  void find_legacy_storages(const PickleValue& keys, uint64_t offset);
  Storage find_storage(const std::string& key) const;
  void add_tensors(const PickleValue& dict, const std::string& prefix, size_t depth);
  TensorEntry parse_tensor(const PickleValue& value, const std::string& where) const;

  std::unique_ptr<const Pickle> pickle_;
  std::string folder_;                       // common prefix of the entries of a zip archive
  std::map<std::string, ZipEntry> entries_;  // entries of a zip archive, by name
  std::map<std::string, Storage> storages_;  // storages of the older format, by key
  size_t visited_ = 0;                       // number of items of dicts visited so far
};

}  // namespace sotto
