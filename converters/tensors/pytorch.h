// Files written by PyTorch's torch.save(): zip archives (since 1.6), and the older format of five pickles followed by
// the data. The tensors in nested dicts have the names of their keys, joined by dots.
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

// Returns whether a file begins like one in either format. False if there is no such file.
bool is_pytorch(const std::filesystem::path& path);

// Returns the numbers, flags and texts of a dict as JSON. Other values are null. Returns {} for other than a dict.
nlohmann::json settings_of(const PickleValue& dict);

class PytorchFile final : public TensorFile {
 public:
  // Throws std::runtime_error, which names what is wrong, if the file is damaged, refers to anything but tensors and
  // plain data, or has tensors that reach outside of their storage.
  explicit PytorchFile(const std::filesystem::path& path);

  // Returns the object that was saved.
  const PickleValue& root() const { return pickle_->root(); }

 private:
  // Bytes of the file that several tensors may share.
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
  std::string folder_;                       // of the entries of a zip archive
  std::map<std::string, ZipEntry> entries_;  // of a zip archive
  std::map<std::string, Storage> storages_;  // of the older format, by key
  size_t visited_ = 0;                       // items of dicts
};

}  // namespace sotto
