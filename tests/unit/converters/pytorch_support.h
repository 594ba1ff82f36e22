// Writes pickles, zip archives and PyTorch files, valid and invalid ones.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/converters/checkpoint_support.h"

namespace sotto {

// The following return the opcodes that push a value.
std::string pickle_text(const std::string& text);
std::string pickle_integer(uint32_t value);
std::string pickle_counts(const std::vector<uint64_t>& values);  // a tuple
std::string pickle_global(const std::string& module, const std::string& name);
std::string pickle_call(const std::string& module, const std::string& name, const std::string& arguments);
std::string pickle_dict(const std::vector<std::pair<std::string, std::string>>& items);

// A tensor as torch.save() describes it.
struct SavedTensor {
  std::string storage_type = "FloatStorage";
  std::string key = "0";
  uint32_t storage_count = 0;
  uint32_t offset = 0;
  std::vector<uint64_t> shape;
  std::vector<uint64_t> strides;
};
std::string pickle_tensor(const SavedTensor& tensor);

// Returns a whole pickle of one value.
std::string pickle_of(const std::string& value);

struct ZipFile {
  std::string name;
  std::string bytes;
  uint16_t method = 0;
};
std::string zip_bytes(const std::vector<ZipFile>& files);

// Returns an archive with a pickle and the bytes of storages "0", "1" and so on.
std::string pytorch_zip_bytes(const std::string& pickle, const std::vector<std::string>& storages);

// Return a file with a dict of tensors. The dict is the whole object, or the member "model" of an object with the
// members `others`.
using PickleItems = std::vector<std::pair<std::string, std::string>>;
std::string pytorch_bytes(const RawTensors& tensors, const PickleItems& others = {});
std::string legacy_pytorch_bytes(const RawTensors& tensors);

// Swaps the axes of the linear weights. Transformers stores them as (inputs, outputs), other formats as (outputs,
// inputs).
void transpose_linears(RawTensors& tensors);

}  // namespace sotto
