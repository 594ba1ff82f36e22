#include "converters/readers/safetensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "converters/file.h"

namespace sotto {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");

constexpr uint64_t kHeaderLimit = 100'000'000;  // the limit of the reference implementation
constexpr uint64_t kIndexLimit = 100'000'000;

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

[[noreturn]] void fail_at(const std::string& where, const std::string& what) {
  throw std::runtime_error(where + ": " + what);
}

std::string tensor_label(const std::filesystem::path& path, const std::string& name) {
  return path.string() + ": tensor " + in_quotes(name);
}

// Computes the product of the shape. Returns false if the product times the element's size exceeds 64 bits.
bool multiply_shape(const std::vector<uint64_t>& shape, uint64_t element_size, uint64_t* count) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    *count = 0;
    return true;
  }
  *count = 1;
  for (const uint64_t extent : shape) {
    if (extent > std::numeric_limits<uint64_t>::max() / element_size / *count) return false;
    *count *= extent;
  }
  return true;
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

float float_of_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = half >> 10 & 31;
  const uint32_t mantissa = half & 0x3FF;
  if (exponent == 0) {  // zero and subnormal numbers are mantissa * 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t float_exponent = exponent == 31 ? 255 : exponent + (127 - 15);
  return std::bit_cast<float>(sign | float_exponent << 23 | mantissa << 13);
}

float float_of_bfloat(uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

// Reads elements of type T in pieces and appends their conversions to float32.
template <typename T, typename Convert>
std::vector<float> read_converted(const InputFile& file, uint64_t offset, uint64_t count, Convert convert) {
  constexpr uint64_t kPiece = uint64_t{1} << 18;
  std::vector<T> piece(std::min(count, kPiece));
  std::vector<float> values(count);
  for (uint64_t done = 0; done < count;) {
    const uint64_t take = std::min(count - done, kPiece);
    file.read_at(offset + done * sizeof(T), piece.data(), take * sizeof(T));
    std::transform(piece.begin(), piece.begin() + static_cast<ptrdiff_t>(take),
                   values.begin() + static_cast<ptrdiff_t>(done), convert);
    done += take;
  }
  return values;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : file_(path) { read_header(); }

void SafetensorsFile::read_header() {
  const std::string where = path().string();
  uint64_t header_size = 0;
  if (file_.size() < sizeof header_size) {
    fail_at(where, "too short for a safetensors file: " + std::to_string(file_.size()) + " bytes");
  }
  file_.read_at(0, &header_size, sizeof header_size);
  if (header_size > kHeaderLimit || header_size > file_.size() - sizeof header_size) {
    fail_at(where, "byte 0: the header is said to have " + std::to_string(header_size) +
                       " bytes; the file is damaged or not safetensors");
  }
  std::string text(header_size, '\0');
  file_.read_at(sizeof header_size, text.data(), text.size());
  const json header = parse_strict_json(text, where + ": header at byte 8");
  if (!header.is_object()) fail_at(where, "the header is not an object");

  const uint64_t data_offset = sizeof header_size + header_size;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") continue;
    tensors_.emplace(name, parse_entry(value, data_offset, file_.size() - data_offset, tensor_label(path(), name)));
  }
  check_coverage(tensors_, data_offset, file_.size(), path());
}

std::vector<float> SafetensorsFile::read(const std::string& name, uint64_t first, uint64_t count) const {
  const TensorEntry& entry = tensors_.at(name);
  std::vector<float> values;
  switch (entry.type) {
    case TensorType::kF16:
      values = read_converted<uint16_t>(file_, entry.offset + 2 * first, count, float_of_half);
      break;
    case TensorType::kBf16:
      values = read_converted<uint16_t>(file_, entry.offset + 2 * first, count, float_of_bfloat);
      break;
    case TensorType::kF32:
      values.resize(count);
      file_.read_at(entry.offset + 4 * first, values.data(), count * sizeof(float));
      break;
    case TensorType::kF64:
      values = read_converted<double>(file_, entry.offset + 8 * first, count, [](double value) {
        // Casting a number outside the range of float is undefined behaviour.
        return std::abs(value) <= std::numeric_limits<float>::max() ? static_cast<float>(value)
                                                                    : std::numeric_limits<float>::infinity();
      });
      break;
    case TensorType::kOther:
      fail_at(tensor_label(path(), name), "its dtype is " + entry.type_name + ", not a float type");
  }
  const auto bad = std::find_if_not(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
  if (bad != values.end()) {
    fail_at(tensor_label(path(), name), "element " +
                                            std::to_string(first + static_cast<uint64_t>(bad - values.begin())) +
                                            " is not a finite float32 number");
  }
  return values;
}

SafetensorsDirectory::SafetensorsDirectory(const std::filesystem::path& directory) : directory_(directory) {
  const auto single = directory / "model.safetensors";
  const auto index = directory / "model.safetensors.index.json";
  if (std::filesystem::exists(single)) {
    const auto file = std::make_shared<const SafetensorsFile>(single);
    for (const auto& [name, entry] : file->tensors()) files_.emplace(name, file);
  } else if (std::filesystem::exists(index)) {
    open_shards(index);
  } else {
    fail_at(directory.string(), "neither model.safetensors nor model.safetensors.index.json here");
  }
}

void SafetensorsDirectory::open_shards(const std::filesystem::path& index) {
  const std::string where = index.string();
  const json root = parse_strict_json(read_text_file(index, kIndexLimit), where);
  if (!root.is_object() || !root.contains("weight_map") || !root["weight_map"].is_object()) {
    fail_at(where, "\"weight_map\" is missing or not an object");
  }
  std::map<std::string, std::shared_ptr<const SafetensorsFile>> shards;
  for (const auto& [name, value] : root["weight_map"].items()) {
    if (!value.is_string()) {
      fail_at(where, "the file of tensor " + in_quotes(name) + " is not a string");
    }
    const auto& shard_name = value.get_ref<const std::string&>();
    const std::filesystem::path plain = std::filesystem::path(shard_name).filename();
    if (shard_name.empty() || plain != shard_name || plain == ".." || plain == "." ||
        shard_name.find('\0') != std::string::npos) {
      fail_at(where, in_quotes(shard_name) + " is not the name of a file next to the index");
    }
    auto& shard = shards[shard_name];
    if (!shard) shard = std::make_shared<const SafetensorsFile>(directory_ / plain);
    if (shard->tensors().count(name) == 0) {
      fail_at(tensor_label(shard->path(), name), "is missing, though the index says it is here");
    }
    files_.emplace(name, shard);
  }
}

std::vector<std::string> SafetensorsDirectory::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : files_) names.push_back(name);
  return names;
}

const SafetensorsFile& SafetensorsDirectory::file_of(const std::string& name) const {
  const auto found = files_.find(name);
  if (found == files_.end()) fail_at(tensor_label(directory_, name), "is missing");
  return *found->second;
}

const TensorEntry& SafetensorsDirectory::entry(const std::string& name) const {
  return file_of(name).tensors().at(name);
}

std::vector<float> SafetensorsDirectory::read(const std::string& name, uint64_t first, uint64_t count) const {
  return file_of(name).read(name, first, count);
}

std::string SafetensorsDirectory::where(const std::string& name) const {
  return tensor_label(file_of(name).path(), name);
}

}  // namespace sotto
