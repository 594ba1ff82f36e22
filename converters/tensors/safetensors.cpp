#include "converters/tensors/safetensors.h"

#include <algorithm>

#include "converters/file.h"

namespace sotto {
namespace {

using nlohmann::json;

constexpr uint64_t kHeaderLimit = 100'000'000;  // the limit of the reference implementation

struct TypeInfo {
  const char* name;
  uint32_t size;
  TensorType type;
};
constexpr TypeInfo kTypes[] = {
    {"F32", 4, TensorType::kF32},   {"F16", 2, TensorType::kF16},       {"BF16", 2, TensorType::kBf16},
    {"F64", 8, TensorType::kF64},   {"BOOL", 1, TensorType::kOther},    {"U8", 1, TensorType::kOther},
    {"I8", 1, TensorType::kOther},  {"F8_E5M2", 1, TensorType::kOther}, {"F8_E4M3", 1, TensorType::kOther},
    {"I16", 2, TensorType::kOther}, {"U16", 2, TensorType::kOther},     {"I32", 4, TensorType::kOther},
    {"U32", 4, TensorType::kOther}, {"I64", 8, TensorType::kOther},     {"U64", 8, TensorType::kOther}};

const TypeInfo* find_type(const std::string& name) {
  for (const TypeInfo& type : kTypes) {
    if (name == type.name) return &type;
  }
  return nullptr;
}

const json& member(const json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end()) fail_at(where, std::string("\"") + key + "\" is missing");
  return *found;
}

TensorEntry parse_entry(const json& value, uint64_t data_offset, uint64_t data_size, const std::string& where) {
  if (!value.is_object()) fail_at(where, "its description is not an object");
  TensorEntry entry;
  const json& type_name = member(value, "dtype", where);
  if (!type_name.is_string()) fail_at(where, "\"dtype\" is not a string");
  entry.type_name = type_name.get<std::string>();
  const TypeInfo* type = find_type(entry.type_name);
  if (type == nullptr) fail_at(where, "unknown dtype " + in_quotes(entry.type_name));
  entry.type = type->type;

  const json& shape = member(value, "shape", where);
  if (!shape.is_array()) fail_at(where, "\"shape\" is not an array");
  for (const json& extent : shape) {
    if (!extent.is_number_unsigned()) fail_at(where, "\"shape\" holds " + extent.dump());
    entry.shape.push_back(extent.get<uint64_t>());
  }
  const json& range = member(value, "data_offsets", where);
  if (!range.is_array() || range.size() != 2 || !range[0].is_number_unsigned() || !range[1].is_number_unsigned()) {
    fail_at(where, "\"data_offsets\" is not a pair of offsets");
  }
  const uint64_t begin = range[0].get<uint64_t>();
  const uint64_t end = range[1].get<uint64_t>();
  if (begin > end) {
    fail_at(where, "its data begins at offset " + std::to_string(begin) + " and ends before");
  }
  if (end > data_size) {
    fail_at(where, "its data ends at offset " + std::to_string(end) + ", the file's at " + std::to_string(data_size) +
                       "; the file is damaged or incomplete");
  }
  if (!multiply_shape(entry.shape, type->size, &entry.element_count)) {
    fail_at(where, "its shape is too large");
  }
  if (entry.element_count * type->size != end - begin) {
    fail_at(where, "its shape and dtype need " + std::to_string(entry.element_count * type->size) +
                       " bytes, its range [" + std::to_string(begin) + ", " + std::to_string(end) + ") has " +
                       std::to_string(end - begin));
  }
  entry.offset = data_offset + begin;
  entry.size = end - begin;
  return entry;
}

// The format requires that tensors cover the data without gaps or overlaps.
void check_coverage(const std::map<std::string, TensorEntry>& tensors, uint64_t data_offset, uint64_t file_size,
                    const std::filesystem::path& path) {
  std::vector<const std::pair<const std::string, TensorEntry>*> order;
  order.reserve(tensors.size());
  for (const auto& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.offset, a->second.size) < std::pair(b->second.offset, b->second.size);
  });
  uint64_t covered = data_offset;
  for (const auto* tensor : order) {
    const auto& [name, entry] = *tensor;
    if (entry.offset < covered) {
      fail_at(tensor_label(path, name),
              "its data at byte " + std::to_string(entry.offset) + " overlaps another tensor's");
    }
    if (entry.offset > covered) {
      fail_at(path.string(), "the bytes from " + std::to_string(covered) + " to " + std::to_string(entry.offset) +
                                 " belong to no tensor");
    }
    covered += entry.size;
  }
  if (covered != file_size) {
    fail_at(path.string(),
            "the bytes from " + std::to_string(covered) + " to " + std::to_string(file_size) + " belong to no tensor");
  }
}

}  // namespace

bool is_safetensors(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  const InputFile file(path);
  struct {
    char header_size[8];
    char brace;
  } start;
  if (file.size() < sizeof start) return false;
  file.read_at(0, &start, sizeof start);
  return start.brace == '{';
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : TensorFile(path) {
  const std::string where = path.string();
  uint64_t header_size = 0;
  if (file_.size() < sizeof header_size) {
    fail_at(where, "too short for a safetensors file: " + std::to_string(file_.size()) + " bytes");
  }
  file_.read_at(0, &header_size, sizeof header_size);
  if (header_size > kHeaderLimit || header_size > file_.size() - sizeof header_size) {
    fail_at(where,
            "byte 0: invalid header size " + std::to_string(header_size) + "; the file is damaged or not safetensors");
  }
  std::string text(header_size, '\0');
  file_.read_at(sizeof header_size, text.data(), text.size());
  const json header = parse_strict_json(text, where + ": header at byte 8");
  if (!header.is_object()) fail_at(where, "the header is not an object");

  const uint64_t data_offset = sizeof header_size + header_size;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") continue;
    tensors_.emplace(name, parse_entry(value, data_offset, file_.size() - data_offset, tensor_label(path, name)));
  }
  check_coverage(tensors_, data_offset, file_.size(), path);
}

}  // namespace sotto
