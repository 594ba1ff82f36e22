#include "tests/unit/converters/pytorch_support.h"

#include <cstring>

namespace sotto {
namespace {

template <typename T>
std::string raw(T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  return {bytes, sizeof value};
}

const std::map<std::string, std::string> kStorageTypes = {{"F32", "FloatStorage"},     {"F16", "HalfStorage"},
                                                          {"BF16", "BFloat16Storage"}, {"F64", "DoubleStorage"},
                                                          {"I32", "IntStorage"},       {"BOOL", "BoolStorage"}};
const std::map<std::string, uint32_t> kSizes = {{"F32", 4}, {"F16", 2}, {"BF16", 2},
                                                {"F64", 8}, {"I32", 4}, {"BOOL", 1}};

// Describes the tensors, one storage each, and appends the storages.
PickleItems pickle_items(const RawTensors& tensors, std::vector<std::string>& storages) {
  PickleItems items;
  for (const auto& [name, tensor] : tensors) {
    SavedTensor saved = {.storage_type = kStorageTypes.at(tensor.type),
                         .key = std::to_string(storages.size()),
                         .storage_count = static_cast<uint32_t>(tensor.bytes.size() / kSizes.at(tensor.type)),
                         .shape = tensor.shape,
                         .strides = std::vector<uint64_t>(tensor.shape.size(), 1)};
    for (size_t axis = tensor.shape.size(); axis-- > 1;) {
      saved.strides[axis - 1] = saved.strides[axis] * tensor.shape[axis];
    }
    items.emplace_back(name, pickle_tensor(saved));
    storages.push_back(tensor.bytes);
  }
  return items;
}

}  // namespace

std::string pickle_text(const std::string& text) { return "X" + raw(static_cast<uint32_t>(text.size())) + text; }

std::string pickle_integer(uint32_t value) { return "\x8a\x05" + raw(value) + std::string(1, '\0'); }

std::string pickle_counts(const std::vector<uint64_t>& values) {
  std::string items = "(";
  for (const uint64_t value : values) items += "\x8a\x08" + raw(value);
  return items + "t";
}

std::string pickle_global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}

std::string pickle_call(const std::string& module, const std::string& name, const std::string& arguments) {
  return pickle_global(module, name) + "(" + arguments + "tR";
}

std::string pickle_dict(const PickleItems& items) {
  std::string dict = "}(";
  for (const auto& [key, value] : items) dict += pickle_text(key) + value;
  return dict + "u";
}

std::string pickle_tensor(const SavedTensor& tensor) {
  const std::string storage = "(" + pickle_text("storage") + pickle_global("torch", tensor.storage_type) +
                              pickle_text(tensor.key) + pickle_text("cpu") + pickle_integer(tensor.storage_count) +
                              "tQ";
  return pickle_call("torch._utils", "_rebuild_tensor_v2",
                     storage + pickle_integer(tensor.offset) + pickle_counts(tensor.shape) +
                         pickle_counts(tensor.strides) + "\x89" + pickle_call("collections", "OrderedDict", ""));
}

std::string pickle_of(const std::string& value) { return "\x80\x02" + value + "."; }

std::string zip_bytes(const std::vector<ZipFile>& files) {
  std::string bytes, directory;
  for (const ZipFile& file : files) {
    const auto size = static_cast<uint32_t>(file.bytes.size());
    const auto name_size = static_cast<uint16_t>(file.name.size());
    // Version, flags, method, time and date, CRC-32 and sizes.
    const std::string common = raw<uint16_t>(20) + raw<uint16_t>(0) + raw(file.method) + raw<uint32_t>(0) +
                               raw<uint32_t>(0) + raw(size) + raw(size) + raw(name_size) + raw<uint16_t>(0);
    directory += "PK\x01\x02" + raw<uint16_t>(20) + common + std::string(10, '\0') +
                 raw(static_cast<uint32_t>(bytes.size())) + file.name;
    bytes += "PK\x03\x04" + common + file.name + file.bytes;
  }
  const auto count = static_cast<uint16_t>(files.size());
  return bytes + directory + "PK\x05\x06" + raw<uint32_t>(0) + raw(count) + raw(count) +
         raw(static_cast<uint32_t>(directory.size())) + raw(static_cast<uint32_t>(bytes.size())) + raw<uint16_t>(0);
}

std::string pytorch_zip_bytes(const std::string& pickle, const std::vector<std::string>& storages) {
  std::vector<ZipFile> files = {{"m/data.pkl", pickle}, {"m/byteorder", "little"}};
  for (size_t i = 0; i < storages.size(); ++i) files.push_back({"m/data/" + std::to_string(i), storages[i]});
  files.push_back({"m/version", "3\n"});
  return zip_bytes(files);
}

std::string pytorch_bytes(const RawTensors& tensors, const PickleItems& others) {
  std::vector<std::string> storages;
  std::string object = pickle_dict(pickle_items(tensors, storages));
  if (!others.empty()) {
    PickleItems items = others;
    items.emplace_back("model", object);
    object = pickle_dict(items);
  }
  return pytorch_zip_bytes(pickle_of(object), storages);
}

std::string legacy_pytorch_bytes(const RawTensors& tensors) {
  std::vector<std::string> storages;
  const PickleItems items = pickle_items(tensors, storages);
  std::string bytes = pickle_of(std::string("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 12)) +
                      pickle_of(pickle_integer(1001)) + pickle_of(pickle_dict({{"little_endian", "\x88"}})) +
                      pickle_of(pickle_dict(items));
  std::string keys = "](";
  for (size_t i = 0; i < storages.size(); ++i) keys += pickle_text(std::to_string(i));
  bytes += pickle_of(keys + "e");
  size_t next = 0;
  for (const auto& [name, tensor] : tensors) {
    bytes += raw(static_cast<uint64_t>(tensor.bytes.size() / kSizes.at(tensor.type))) + storages[next++];
  }
  return bytes;
}

void transpose_linears(RawTensors& tensors) {
  for (auto& [name, tensor] : tensors) {
    const bool is_linear = tensor.shape.size() == 2 && (contains(name, ".attn.") || contains(name, ".mlp."));
    if (!is_linear) continue;
    tensor = transpose(tensor);
  }
}

}  // namespace sotto
