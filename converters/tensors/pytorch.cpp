#include "converters/tensors/pytorch.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace sotto {
namespace {

using Kind = PickleValue::Kind;

constexpr uint64_t kPickleLimit = uint64_t{64} << 20;
constexpr size_t kTensorLimit = 65536;
constexpr size_t kNameLimit = 512;
constexpr size_t kDepthLimit = 16;
constexpr size_t kVisitLimit = size_t{1} << 20;
constexpr size_t kAxisLimit = 8;

// The start of the older format: a pickle of the number 0x1950a86a20f9469cfc6c in protocol 2.
constexpr std::string_view kLegacyMagic = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

struct ElementType {
  const char* storage;
  const char* dtype;
  const char* name;
  uint32_t size;
  TensorType type;
};
constexpr ElementType kTypes[] = {
    {"torch.FloatStorage", "torch.float32", "F32", 4, TensorType::kF32},
    {"torch.HalfStorage", "torch.float16", "F16", 2, TensorType::kF16},
    {"torch.BFloat16Storage", "torch.bfloat16", "BF16", 2, TensorType::kBf16},
    {"torch.DoubleStorage", "torch.float64", "F64", 8, TensorType::kF64},
    {"torch.LongStorage", "torch.int64", "I64", 8, TensorType::kOther},
    {"torch.IntStorage", "torch.int32", "I32", 4, TensorType::kOther},
    {"torch.ShortStorage", "torch.int16", "I16", 2, TensorType::kOther},
    {"torch.CharStorage", "torch.int8", "I8", 1, TensorType::kOther},
    {"torch.ByteStorage", "torch.uint8", "U8", 1, TensorType::kOther},
    {"torch.BoolStorage", "torch.bool", "BOOL", 1, TensorType::kOther},
    {"torch.storage.UntypedStorage", "", "untyped", 1, TensorType::kOther},
};

const ElementType* find_type(std::string_view global) {
  for (const ElementType& type : kTypes) {
    if (global == type.storage || global == type.dtype) return &type;
  }
  return nullptr;
}

// Functions that return a tensor, given a storage, an offset, a shape and strides.
constexpr std::string_view kTensors[] = {"torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor",
                                         "torch._utils._rebuild_tensor_v3"};
// Functions whose first argument is a tensor.
constexpr std::string_view kParameters[] = {"torch._utils._rebuild_parameter",
                                            "torch._utils._rebuild_parameter_with_state"};
// Classes of settings that are saved next to the tensors. Their values are not used.
constexpr std::string_view kData[] = {"collections.OrderedDict",
                                      "collections.defaultdict",
                                      "argparse.Namespace",
                                      "builtins.dict",
                                      "builtins.set",
                                      "__builtin__.set",
                                      "pathlib.PosixPath",
                                      "torch.Size",
                                      "torch.device",
                                      "numpy.dtype",
                                      "numpy.core.multiarray.scalar",
                                      "numpy._core.multiarray.scalar",
                                      "numpy.core.multiarray._reconstruct",
                                      "numpy._core.multiarray._reconstruct",
                                      "numpy.ndarray",
                                      "_codecs.encode"};

bool has(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Returns whether a pickle may refer to this class or function. Megatron's enumerations occur in its settings.
bool allows(std::string_view global) {
  return find_type(global) != nullptr || has(kTensors, global) || has(kParameters, global) || has(kData, global) ||
         global.starts_with("megatron.");
}

// Returns the values of a tuple of sizes or strides.
std::vector<uint64_t> read_counts(const PickleValue& tuple, const std::string& where) {
  if (tuple.kind != Kind::kTuple) fail_at(where, "its shape is not a tuple");
  if (tuple.items.size() > kAxisLimit) fail_at(where, "it has " + std::to_string(tuple.items.size()) + " axes");
  std::vector<uint64_t> counts;
  for (const PickleValue* item : tuple.items) {
    if (item->kind != Kind::kInteger || item->integer < 0) fail_at(where, "a size or stride is not a count");
    counts.push_back(static_cast<uint64_t>(item->integer));
  }
  return counts;
}

bool is_contiguous(const std::vector<uint64_t>& shape, const std::vector<uint64_t>& strides) {
  uint64_t expected = 1;
  for (size_t axis = shape.size(); axis-- > 0; expected *= shape[axis]) {
    if (shape[axis] != 1 && strides[axis] != expected) return false;
  }
  return true;
}

// Returns the number of storage elements up to the last one of a tensor, or UINT64_MAX if it overflows. No extent is 0.
uint64_t element_end(uint64_t offset, const std::vector<uint64_t>& shape, const std::vector<uint64_t>& strides) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  uint64_t last = offset;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const uint64_t steps = shape[axis] - 1;
    if (steps != 0 && strides[axis] > (kMax - 1 - last) / steps) return kMax;
    last += steps * strides[axis];
  }
  return last == kMax ? kMax : last + 1;
}

// Returns a number, flag or text as JSON, and null for anything else.
nlohmann::json json_of(const PickleValue& value) {
  const auto is_ascii = [](char c) { return static_cast<uint8_t>(c) < 0x80; };
  switch (value.kind) {
    case Kind::kFlag:
      return value.integer != 0;
    case Kind::kInteger:
      return value.integer < 0 ? nlohmann::json(value.integer) : nlohmann::json(static_cast<uint64_t>(value.integer));
    case Kind::kReal:
      return value.real;
    case Kind::kText:
      return std::all_of(value.text.begin(), value.text.end(), is_ascii) ? nlohmann::json(value.text) : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace

nlohmann::json settings_of(const PickleValue& dict) {
  nlohmann::json settings = nlohmann::json::object();
  if (dict.kind != Kind::kDict) return settings;
  for (size_t i = 0; i < dict.items.size(); i += 2) {
    const nlohmann::json key = json_of(*dict.items[i]);
    if (key.is_string()) settings[key.get<std::string>()] = json_of(*dict.items[i + 1]);
  }
  return settings;
}

bool is_pytorch(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  const InputFile file(path);
  if (is_zip(file)) return true;
  std::string start(std::min<uint64_t>(file.size(), kLegacyMagic.size()), '\0');
  file.read_at(0, start.data(), start.size());
  return start == kLegacyMagic;
}

PytorchFile::PytorchFile(const std::filesystem::path& path) : TensorFile(path) {
  if (is_zip(file_)) {
    open_zip();
  } else {
    open_legacy();
  }
  if (root().kind == Kind::kDict) add_tensors(root(), "", 0);
}

void PytorchFile::open_zip() {
  const std::string where = path().string();
  constexpr std::string_view kPickle = "data.pkl";
  entries_ = read_zip_directory(file_);
  const ZipEntry* pickle = nullptr;
  for (const auto& [name, entry] : entries_) {
    const size_t slash = name.find('/');
    if (slash == std::string::npos || name.substr(slash + 1) != kPickle) continue;
    if (pickle != nullptr) fail_at(where, "has two entries " + in_quotes(kPickle));
    pickle = &entry;
    folder_ = name.substr(0, slash + 1);
  }
  if (pickle == nullptr) fail_at(where, "a zip archive without data.pkl, not a PyTorch file");
  if (entries_.count(folder_ + "constants.pkl") != 0) {
    fail_at(where, "a TorchScript archive; save the model's state_dict() with torch.save() instead");
  }
  if (!pickle->is_stored) {
    fail_at(where, "data.pkl is compressed, and torch.save() stores it; unpack the archive and pack it with zip -0");
  }
  if (pickle->size > kPickleLimit) fail_at(where, "data.pkl has " + std::to_string(pickle->size) + " bytes");
  if (const auto order = entries_.find(folder_ + "byteorder"); order != entries_.end()) {
    std::string text(std::min<uint64_t>(order->second.size, 16), '\0');
    file_.read_at(order->second.offset, text.data(), text.size());
    if (text != "little") fail_at(where, "its byte order is " + in_quotes(text) + "; only \"little\" is supported");
  }
  std::string bytes(pickle->size, '\0');
  file_.read_at(pickle->offset, bytes.data(), bytes.size());
  pickle_ = std::make_unique<Pickle>(bytes, where + ": data.pkl", allows);
}

// Reads the five pickles: a magic number, the version of the format, properties of the machine, the object, and the
// keys of its storages.
void PytorchFile::open_legacy() {
  const std::string where = path().string();
  constexpr int64_t kVersion = 1001;
  std::string bytes(std::min(file_.size(), kPickleLimit), '\0');
  file_.read_at(0, bytes.data(), bytes.size());
  size_t at = 0;
  const auto next = [&] {
    auto pickle = std::make_unique<const Pickle>(std::string_view(bytes).substr(at), where, allows);
    at += pickle->size();
    return pickle;
  };
  next();  // is_pytorch() has compared the magic number
  const auto version = next();
  if (version->root().kind != Kind::kInteger || version->root().integer != kVersion) {
    fail_at(where, "its format's version is not 1001");
  }
  const auto machine = next();
  const PickleValue* little_endian = machine->root().find("little_endian");
  if (little_endian == nullptr || little_endian->integer != 1) {
    fail_at(where, "its byte order is not little-endian");
  }
  pickle_ = next();
  const auto keys = next();
  find_legacy_storages(keys->root(), at);
}

// Finds the storages: each is a 64-bit number of elements followed by the elements. References to a storage give the
// size of an element.
void PytorchFile::find_legacy_storages(const PickleValue& keys, uint64_t offset) {
  const std::string where = path().string();
  std::map<std::string_view, const ElementType*> types;
  for (const PickleValue& value : pickle_->values()) {
    if (value.kind != Kind::kPersistent || value.items[0]->items.size() < 3) continue;
    const auto& id = value.items[0]->items;
    if (const ElementType* type = find_type(id[1]->text)) types[id[2]->text] = type;
  }
  if (keys.kind != Kind::kList) fail_at(where, "its list of storages is missing");
  for (const PickleValue* key : keys.items) {
    const auto type = types.find(key->text);
    if (type == types.end()) fail_at(where, "no tensor has the storage " + in_quotes(key->text));
    uint64_t count = 0;
    if (offset > file_.size() || file_.size() - offset < sizeof count) {
      fail_at(where, "ends before storage " + in_quotes(key->text) + "; the file is damaged or incomplete");
    }
    file_.read_at(offset, &count, sizeof count);
    offset += sizeof count;
    if (count > (file_.size() - offset) / type->second->size) {
      fail_at(where, "ends within storage " + in_quotes(key->text) + "; the file is damaged or incomplete");
    }
    storages_[key->text] = {offset, count * type->second->size};
    offset += count * type->second->size;
  }
}

PytorchFile::Storage PytorchFile::find_storage(const std::string& key) const {
  const std::string where = path().string();
  if (const auto entry = entries_.find(folder_ + "data/" + key); entry != entries_.end()) {
    if (!entry->second.is_stored) fail_at(where, "entry " + in_quotes(entry->first) + " is compressed");
    return {entry->second.offset, entry->second.size};
  }
  if (const auto storage = storages_.find(key); storage != storages_.end()) return storage->second;
  fail_at(where, "the data of storage " + in_quotes(key) + " is missing");
}

// Adds the tensors of a dict and of the dicts in it. Other values are settings and ignored.
void PytorchFile::add_tensors(const PickleValue& dict, const std::string& prefix, size_t depth) {
  const std::string where = path().string();
  if (depth == kDepthLimit) fail_at(where, "dicts are nested too deeply");
  for (size_t i = 0; i < dict.items.size(); i += 2) {
    if (++visited_ > kVisitLimit) fail_at(where, "its dicts have too many items");
    const PickleValue& key = *dict.items[i];
    const PickleValue& value = *dict.items[i + 1];
    if (key.kind != Kind::kText || (value.kind != Kind::kDict && value.kind != Kind::kCall)) continue;
    if (prefix.size() + key.text.size() > kNameLimit) fail_at(where, "the name of a tensor is too long");
    const std::string name = prefix + key.text;
    if (value.kind == Kind::kDict) {
      add_tensors(value, name + ".", depth + 1);
      continue;
    }
    const PickleValue* tensor = &value;
    if (has(kParameters, value.items[0]->text)) {
      const auto& arguments = value.items[1]->items;
      if (arguments.empty() || arguments[0]->kind != Kind::kCall)
        fail_at(tensor_label(path(), name), "is not a tensor");
      tensor = arguments[0];
    }
    if (!has(kTensors, tensor->items[0]->text)) continue;
    if (tensors_.size() == kTensorLimit) fail_at(where, "has too many tensors");
    tensors_.insert_or_assign(name, parse_tensor(*tensor, tensor_label(path(), name)));
  }
}

// Reads the first arguments of _rebuild_tensor_v2, the only ones that matter: storage, offset, shape and strides.
// _rebuild_tensor_v3 also has the element type, at position 6. A storage is ("storage", type, key, device, number of
// elements).
TensorEntry PytorchFile::parse_tensor(const PickleValue& value, const std::string& where) const {
  constexpr size_t kTypePosition = 6;
  const auto& arguments = value.items[1]->items;
  const bool is_typed = value.is_call_of("torch._utils._rebuild_tensor_v3");
  if (arguments.size() < (is_typed ? kTypePosition + 1 : 4)) fail_at(where, "its description is incomplete");
  if (arguments[0]->kind != Kind::kPersistent) fail_at(where, "its storage is missing");
  const auto& id = arguments[0]->items[0]->items;
  if (id.size() < 5 || id[0]->text != "storage" || id[4]->kind != Kind::kInteger) {
    fail_at(where, "the description of its storage is incomplete");
  }
  if (id.size() > 5 && id[5]->kind != Kind::kNone) fail_at(where, "its storage is a view, which is not supported");
  const std::string& type_name = is_typed ? arguments[kTypePosition]->text : id[1]->text;
  const ElementType* type = find_type(type_name);
  if (type == nullptr) fail_at(where, "its type is " + in_quotes(type_name));

  TensorEntry entry;
  entry.type = type->type;
  entry.type_name = type->name;
  entry.shape = read_counts(*arguments[2], where);
  entry.strides = read_counts(*arguments[3], where);
  if (entry.strides.size() != entry.shape.size()) fail_at(where, "its shape and its strides differ in number");
  if (arguments[1]->kind != Kind::kInteger || arguments[1]->integer < 0) fail_at(where, "its offset is not a count");
  const auto offset = static_cast<uint64_t>(arguments[1]->integer);
  if (!multiply_shape(entry.shape, type->size, &entry.element_count)) fail_at(where, "its shape is too large");
  if (entry.element_count == 0) {
    entry.strides.clear();
    return entry;
  }
  const Storage storage = find_storage(id[2]->text);
  const uint64_t stored = storage.size / type->size;
  const uint64_t end = element_end(offset, entry.shape, entry.strides);
  if (end > stored) {
    fail_at(where, "it reaches to element " + std::to_string(end) + " of a storage of " + std::to_string(stored) +
                       "; the file is damaged or incomplete");
  }
  if (entry.element_count > stored) {
    fail_at(where, "its " + std::to_string(entry.element_count) + " elements repeat those of a storage of " +
                       std::to_string(stored) + ", which is not supported; call contiguous() before saving");
  }
  if (is_contiguous(entry.shape, entry.strides)) entry.strides.clear();
  entry.offset = storage.offset + offset * type->size;
  entry.size = (end - offset) * type->size;
  return entry;
}

}  // namespace sotto
