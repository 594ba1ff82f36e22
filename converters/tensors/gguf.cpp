#include "converters/tensors/gguf.h"

#include <algorithm>
#include <cstring>

#include "converters/tensors/ggml_types.h"

namespace sotto {
namespace {

using nlohmann::json;

constexpr char kMagic[4] = {'G', 'G', 'U', 'F'};
constexpr uint64_t kHeaderLimit = 100'000'000;

// The types of values.
enum ValueType : uint32_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64
};

// Reads the header of a file sequentially, through a buffer.
class HeaderReader {
 public:
  explicit HeaderReader(const InputFile& file) : file_(file), limit_(std::min(file.size(), kHeaderLimit)) {}

  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return limit_ - offset_; }
  [[noreturn]] void fail(const std::string& message) const {
    fail_at(file_.path().string() + ": byte " + std::to_string(offset_), message);
  }

  void read(void* bytes, size_t size) {
    require(size, 1);
    auto* to = static_cast<uint8_t*>(bytes);
    while (size > 0) {
      if (offset_ < buffer_offset_ || offset_ >= buffer_offset_ + buffer_.size()) fill();
      const size_t at = offset_ - buffer_offset_;
      const size_t take = std::min(size, buffer_.size() - at);
      std::memcpy(to, buffer_.data() + at, take);
      to += take;
      offset_ += take;
      size -= take;
    }
  }

  template <typename T>
  T number() {
    T value;
    read(&value, sizeof value);
    return value;
  }

  std::string string() {
    const auto size = number<uint64_t>();
    require(size, 1);
    std::string text(size, '\0');
    read(text.data(), size);
    return text;
  }

  void skip(uint64_t count, uint64_t size) {
    require(count, size);
    offset_ += count * size;
  }

  // Throws unless the rest of the file can hold `count` elements of at least `size` bytes, which bounds allocations.
  void require(uint64_t count, uint64_t size) const {
    if (count <= remaining() / size) return;
    fail(std::to_string(count) + " elements of " + std::to_string(size) + " bytes or more do not fit the header; " +
         (limit_ == kHeaderLimit ? "headers of more than 100 MB are not supported"
                                 : "the file is damaged or incomplete"));
  }

 private:
  void fill() {
    constexpr uint64_t kPiece = uint64_t{1} << 16;
    buffer_offset_ = offset_;
    buffer_.resize(std::min(kPiece, limit_ - offset_));
    file_.read_at(offset_, buffer_.data(), buffer_.size());
  }

  const InputFile& file_;
  uint64_t limit_;
  uint64_t offset_ = 0;
  uint64_t buffer_offset_ = 0;
  std::vector<uint8_t> buffer_;
};

json read_value(HeaderReader& in, uint32_t type);

json read_array(HeaderReader& in) {
  const auto type = in.number<uint32_t>();
  const auto count = in.number<uint64_t>();
  switch (type) {
    case kUint8:
    case kInt8:
    case kBool:
      in.skip(count, 1);
      return nullptr;
    case kUint16:
    case kInt16:
      in.skip(count, 2);
      return nullptr;
    case kUint64:
    case kInt64:
    case kFloat64:
      in.skip(count, 8);
      return nullptr;
    case kUint32:
    case kInt32:
    case kFloat32:
    case kString:
      break;
    default:
      in.fail("an array of values of type " + std::to_string(type) + ", which is not supported");
  }
  in.require(count, type == kString ? sizeof(uint64_t) : 4);
  json::array_t array;
  array.reserve(count);
  for (uint64_t i = 0; i < count; ++i) array.push_back(read_value(in, type));
  return array;
}

json read_value(HeaderReader& in, uint32_t type) {
  switch (type) {
    case kUint8:
      return in.number<uint8_t>();
    case kInt8:
      return in.number<int8_t>();
    case kUint16:
      return in.number<uint16_t>();
    case kInt16:
      return in.number<int16_t>();
    case kUint32:
      return in.number<uint32_t>();
    case kInt32:
      return in.number<int32_t>();
    case kFloat32:
      return in.number<float>();
    case kBool:
      return in.number<uint8_t>() != 0;
    case kString:
      return in.string();
    case kArray:
      return read_array(in);
    case kUint64:
      return in.number<uint64_t>();
    case kInt64:
      return in.number<int64_t>();
    case kFloat64:
      return in.number<double>();
    default:
      in.fail("a value of type " + std::to_string(type) + "; GGUF has the types 0 to 12");
  }
}

uint64_t align(uint64_t offset, uint64_t alignment) { return (offset + alignment - 1) / alignment * alignment; }

void check_start(HeaderReader& in) {
  char magic[sizeof kMagic];
  in.read(magic, sizeof magic);
  if (std::memcmp(magic, kMagic, sizeof magic) != 0) in.fail("not a GGUF file");
  const auto version = in.number<uint32_t>();
  if (version > 0 && version <= 0xFFFF) {
    if (version == 2 || version == 3) return;
    in.fail("GGUF version " + std::to_string(version) + "; versions 2 and 3 are supported");
  }
  in.fail("a GGUF file of a big-endian system, which is not supported");
}

// Reads the description of one tensor. The offset is relative to the start of the data.
TensorEntry read_entry(HeaderReader& in, const std::string& where) {
  constexpr uint32_t kMaxDimensions = 4;
  constexpr uint64_t kMaxElements = uint64_t{1}
                                    << 56;  // so that the product with the size of an element cannot overflow
  TensorEntry entry;
  const auto dimensions = in.number<uint32_t>();
  if (dimensions > kMaxDimensions) fail_at(where, "it has " + std::to_string(dimensions) + " dimensions, more than 4");
  entry.element_count = 1;
  for (uint32_t i = 0; i < dimensions; ++i) {
    const auto extent = in.number<uint64_t>();
    if (extent == 0 || extent > kMaxElements / entry.element_count) fail_at(where, "its shape is too large or 0");
    entry.element_count *= extent;
    entry.shape.insert(entry.shape.begin(), extent);  // the file stores the innermost extent first
  }
  const auto id = in.number<uint32_t>();
  const GgmlType* const type = find_ggml_type(id);
  if (type == nullptr || type->dequantize == nullptr) {
    fail_at(where, "its type is " + (type == nullptr ? "number " + std::to_string(id) : type->name) +
                       "; supported are " + kGgmlTypeNames);
  }
  entry.type = TensorType::kBlocks;
  entry.type_name = type->name;
  const uint64_t row = entry.shape.empty() ? 1 : entry.shape.back();
  if (row % type->block_elements != 0) {
    fail_at(where, "its rows of " + std::to_string(row) + " numbers are not blocks of " + type->name);
  }
  entry.size = entry.element_count / type->block_elements * type->block_bytes;
  entry.offset = in.number<uint64_t>();
  return entry;
}

}  // namespace

GgufFile::GgufFile(const std::filesystem::path& path) : TensorFile(path) {
  HeaderReader in(file_);
  check_start(in);
  const auto tensor_count = in.number<uint64_t>();
  const auto value_count = in.number<uint64_t>();
  for (uint64_t i = 0; i < value_count; ++i) {
    std::string key = in.string();
    const auto type = in.number<uint32_t>();
    json value = read_value(in, type);
    if (!values_.emplace(key, std::move(value)).second) in.fail("duplicate key: " + in_quotes(key));
  }
  uint64_t alignment = 32;
  if (const auto found = values_.find("general.alignment"); found != values_.end()) {
    constexpr uint64_t kMaxAlignment = uint64_t{1} << 20;
    alignment = found->is_number_unsigned() ? found->get<uint64_t>() : 0;
    if (alignment == 0 || alignment > kMaxAlignment) in.fail("general.alignment is not a number from 1 to 1048576");
  }

  // The format requires that the tensors follow each other, with only the padding of the alignment between them.
  uint64_t end = 0;
  for (uint64_t i = 0; i < tensor_count; ++i) {
    const std::string name = in.string();
    const std::string label = tensor_label(path, name);
    TensorEntry entry = read_entry(in, label);
    if (entry.offset != align(end, alignment)) {
      fail_at(label, "its data is at offset " + std::to_string(entry.offset) + "; the previous tensor's ends at " +
                         std::to_string(end));
    }
    if (entry.size > file_.size() || entry.offset > file_.size() - entry.size) {
      fail_at(label, "its data of " + std::to_string(entry.size) + " bytes at offset " + std::to_string(entry.offset) +
                         " ends after the file; the file is damaged or incomplete");
    }
    end = entry.offset + entry.size;
    if (!tensors_.emplace(name, std::move(entry)).second) in.fail("duplicate tensor: " + in_quotes(name));
  }
  const uint64_t data_offset = align(in.offset(), alignment);
  for (auto& [name, entry] : tensors_) entry.offset += data_offset;
  end += data_offset;
  if (end > file_.size() || align(end, alignment) < file_.size()) {
    fail_at(path.string(), "the tensors end at byte " + std::to_string(end) + ", the file at " +
                               std::to_string(file_.size()) + "; the file is damaged or incomplete");
  }
}

std::vector<float> GgufFile::decode(const TensorEntry& entry, uint64_t first, uint64_t count) const {
  const GgmlType& type = *find_ggml_type(entry.type_name);
  // Converts whole blocks. The first and the last may extend beyond the requested elements.
  const uint64_t begin = first / type.block_elements;
  const uint64_t end = (first + count + type.block_elements - 1) / type.block_elements;
  const uint64_t max_blocks = (uint64_t{1} << 20) / type.block_bytes;
  std::vector<uint8_t> blocks(std::min(end - begin, max_blocks) * type.block_bytes);
  std::vector<float> values((end - begin) * type.block_elements);
  float* to = values.data();
  for (uint64_t block = begin; block < end;) {
    const uint64_t take = std::min(end - block, max_blocks);
    file_.read_at(entry.offset + block * type.block_bytes, blocks.data(), take * type.block_bytes);
    for (uint64_t i = 0; i < take; ++i, to += type.block_elements) {
      type.dequantize(blocks.data() + i * type.block_bytes, to);
    }
    block += take;
  }
  const auto start = values.begin() + static_cast<ptrdiff_t>(first - begin * type.block_elements);
  values.erase(values.begin(), start);
  values.resize(count);
  return values;
}

bool is_gguf(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  const InputFile file(path);
  char magic[sizeof kMagic];
  if (file.size() < sizeof magic) return false;
  file.read_at(0, magic, sizeof magic);
  return std::memcmp(magic, kMagic, sizeof magic) == 0;
}

}  // namespace sotto
