#include "converters/tensors/tensor_bundle.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "converters/tensors/crc32c.h"
#include "converters/tensors/wire_format.h"

namespace sotto {
namespace {

constexpr uint64_t kIndexLimit = 100'000'000;
constexpr uint64_t kFooterSize = 48;
constexpr uint64_t kTableMagic = 0xDB4775248B80FB57;
constexpr uint32_t kShardLimit = 1 << 16;

struct Block {
  uint64_t offset = 0;
  uint64_t size = 0;
};

Block read_handle(Bytes& bytes) {
  const uint64_t offset = bytes.varint();
  return {offset, bytes.varint()};
}

// The table in an index file.
class Table {
 public:
  explicit Table(const std::filesystem::path& path) : where_(path.string()), bytes_(read_text_file(path, kIndexLimit)) {
    if (bytes_.size() < kFooterSize) fail_at(where_, "too short for the index of a TensorFlow checkpoint");
  }

  // Calls `entry(key, value)` in the order of the keys.
  template <typename Entry>
  void for_each(Entry entry) const {
    const uint64_t footer_offset = bytes_.size() - kFooterSize;
    Bytes footer(std::string_view(bytes_).substr(footer_offset), where_ + ": footer");
    read_handle(footer);  // skips the handle of the metadata block, which is empty
    const Block index = read_handle(footer);
    uint64_t end = 0;
    std::string last_key;
    bool is_first = true;
    for_each_in_block(index, [&](const std::string&, std::string_view handle) {
      Bytes bytes(handle, where_ + ": index block");
      const Block block = read_handle(bytes);
      // Requiring ascending offsets bounds the time: otherwise an index could refer to one block many times.
      if (block.offset < end) fail_at(where_, "block at byte " + std::to_string(block.offset) + ": overlaps another");
      for_each_in_block(block, [&](const std::string& key, std::string_view value) {
        if (!is_first && key <= last_key) fail_at(where_, "the keys are not in ascending order");
        is_first = false;
        last_key = key;
        entry(key, value);
      });
      end = block.offset + block.size;
    });
  }

 private:
  static constexpr uint64_t kTrailerSize = 5;  // the compression type and a CRC

  std::string_view block_bytes(const Block& block) const {
    const std::string where = where_ + ": block at byte " + std::to_string(block.offset);
    const uint64_t available = bytes_.size() - kFooterSize;
    if (block.size > available || block.offset > available - block.size ||
        available - block.size - block.offset < kTrailerSize) {
      fail_at(where, "its " + std::to_string(block.size) + " bytes end after the file");
    }
    const char* const data = bytes_.data() + block.offset;
    uint32_t stored;
    std::memcpy(&stored, data + block.size + 1, sizeof stored);
    if (mask_crc32c(extend_crc32c(0, data, block.size + 1)) != stored) fail_at(where, "its checksum is wrong");
    const char compression = data[block.size];
    if (compression != 0) {
      fail_at(where, compression == 1 ? "compressed with Snappy, which is not supported"
                                      : "unknown compression " + std::to_string(static_cast<int>(compression)));
    }
    return {data, block.size};
  }

  // Calls `entry(key, value)` for each entry of a block. An entry consists of sizes, the part of the key that differs
  // from the previous key, and the value. After the entries come the offsets of some of them and the number of these
  // offsets.
  template <typename Entry>
  void for_each_in_block(const Block& block, Entry entry) const {
    constexpr uint64_t kKeyLimit = 512;  // limits the expansion of keys whose shared parts take no space
    std::string_view bytes = block_bytes(block);
    const std::string where = where_ + ": block at byte " + std::to_string(block.offset);
    uint32_t restarts = 0;
    if (bytes.size() < sizeof restarts) fail_at(where, "damaged: too short");
    std::memcpy(&restarts, bytes.data() + bytes.size() - sizeof restarts, sizeof restarts);
    if (restarts > bytes.size() / sizeof restarts - 1) fail_at(where, "damaged: too many restart points");
    bytes.remove_suffix((uint64_t{restarts} + 1) * sizeof restarts);
    Bytes rest(bytes, where);
    std::string key;
    while (!rest.empty()) {
      const uint64_t shared = rest.varint();
      const uint64_t added = rest.varint();
      const uint64_t value_size = rest.varint();
      if (shared > key.size() || added > kKeyLimit || shared + added > kKeyLimit) {
        rest.fail("damaged, or a name of more than 512 bytes");
      }
      key.resize(shared);
      key += rest.take(added);
      entry(key, rest.take(value_size));
    }
  }

  std::string where_;
  std::string bytes_;
};

// The element types (types.proto of TensorFlow) that can occur in models.
struct DataType {
  uint64_t number;
  const char* name;
  uint64_t size;
  TensorType type;
};
constexpr DataType kDataTypes[] = {
    {1, "float32", 4, TensorType::kF32}, {2, "float64", 8, TensorType::kF64},    {3, "int32", 4, TensorType::kOther},
    {9, "int64", 8, TensorType::kOther}, {14, "bfloat16", 2, TensorType::kBf16}, {19, "float16", 2, TensorType::kF16},
};

// A data file of the checkpoint.
class Shard final : public TensorFile {
 public:
  explicit Shard(const std::filesystem::path& path) : TensorFile(path) {}

  // Adds a variable with the given description and checksum.
  void add(const std::string& name, TensorEntry entry, uint32_t checksum) {
    const std::string where = tensor_label(path(), name);
    if (entry.size > file_.size() || entry.offset > file_.size() - entry.size) {
      fail_at(where, "its data of " + std::to_string(entry.size) + " bytes at offset " + std::to_string(entry.offset) +
                         " ends after the file; the file is damaged or incomplete");
    }
    checksums_[{entry.offset, entry.size}] = checksum;
    tensors_[name] = std::move(entry);
  }

 private:
  std::vector<float> decode(const TensorEntry& entry, uint64_t first, uint64_t count) const override {
    constexpr uint64_t kPiece = uint64_t{1} << 20;
    std::string piece(std::min(kPiece, entry.size), '\0');
    uint32_t crc = 0;
    for (uint64_t done = 0; done < entry.size; done += kPiece) {
      const uint64_t take = std::min(kPiece, entry.size - done);
      file_.read_at(entry.offset + done, piece.data(), take);
      crc = extend_crc32c(crc, piece.data(), take);
    }
    if (mask_crc32c(crc) != checksums_.at({entry.offset, entry.size})) {
      fail_at(path().string() + ": byte " + std::to_string(entry.offset),
              "the checksum of the " + std::to_string(entry.size) + " bytes is wrong; the file is damaged");
    }
    return TensorFile::decode(entry, first, count);
  }

  std::map<std::pair<uint64_t, uint64_t>, uint32_t> checksums_;  // by offset and size
};

// A variable, as a BundleEntryProto describes it.
struct Variable {
  TensorEntry entry;
  uint64_t shard = 0;
  uint32_t checksum = 0;
};

void read_shape(Bytes message, const std::string& where, std::vector<uint64_t>* shape) {
  constexpr size_t kMaxDimensions = 8;
  read_message(message, [&](uint64_t number, uint64_t, std::string_view bytes) {
    if (number != 2) return;  // a dimension
    uint64_t extent = 0;
    read_message(Bytes(bytes, where), [&](uint64_t part, uint64_t value, std::string_view) {
      if (part == 1) extent = value;
    });
    if (shape->size() == kMaxDimensions) fail_at(where, "it has more than 8 dimensions");
    shape->push_back(extent);
  });
}

Variable read_variable(std::string_view message, const std::string& where) {
  Variable variable;
  uint64_t type = 0;
  read_message(Bytes(message, where), [&](uint64_t number, uint64_t value, std::string_view bytes) {
    switch (number) {
      case 1:
        type = value;
        break;
      case 2:
        read_shape(Bytes(bytes, where), where, &variable.entry.shape);
        break;
      case 3:
        variable.shard = value;
        break;
      case 4:
        variable.entry.offset = value;
        break;
      case 5:
        variable.entry.size = value;
        break;
      case 6:
        variable.checksum = static_cast<uint32_t>(value);
        break;
      case 7:
        fail_at(where, "it is stored in slices, which are not supported; save it without a partitioner");
      default:
        break;
    }
  });
  TensorEntry& entry = variable.entry;
  const auto* const known = std::find_if(std::begin(kDataTypes), std::end(kDataTypes),
                                         [&](const DataType& candidate) { return candidate.number == type; });
  if (known == std::end(kDataTypes)) {
    entry.type_name = "TensorFlow's number " + std::to_string(type);
    return variable;
  }
  entry.type = known->type;
  entry.type_name = known->name;
  // A convolution of width 1 stores its matrix with an additional dimension.
  if (entry.shape.size() == 3 && entry.shape[0] == 1) entry.shape.erase(entry.shape.begin());
  if (!multiply_shape(entry.shape, known->size, &entry.element_count)) fail_at(where, "its shape is too large");
  if (entry.element_count * known->size != entry.size) {
    fail_at(where, "its shape " + shape_text(entry.shape) + " of " + known->name + " does not fit its " +
                       std::to_string(entry.size) + " bytes");
  }
  return variable;
}

uint64_t read_shard_count(std::string_view header, const std::string& where) {
  uint64_t count = 0;
  read_message(Bytes(header, where + ": header"), [&](uint64_t number, uint64_t value, std::string_view) {
    if (number == 1) count = value;
    if (number == 2 && value != 0) fail_at(where, "a checkpoint of a big-endian system, which is not supported");
  });
  if (count < 1 || count > kShardLimit) {
    fail_at(where, "the number of shards is " + std::to_string(count) + "; it must be from 1 to 65536");
  }
  return count;
}

std::filesystem::path shard_path(const std::filesystem::path& index, uint64_t shard, uint64_t count) {
  char extension[64];
  std::snprintf(extension, sizeof extension, ".data-%05u-of-%05u", static_cast<unsigned>(shard),
                static_cast<unsigned>(count));
  return std::filesystem::path(index).replace_extension(extension);
}

}  // namespace

bool is_tensor_bundle_index(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  const InputFile file(path);
  uint64_t magic = 0;
  if (file.size() < kFooterSize) return false;
  file.read_at(file.size() - sizeof magic, &magic, sizeof magic);
  return magic == kTableMagic;
}

Tensors open_tensor_bundle(const std::filesystem::path& index) {
  if (!is_tensor_bundle_index(index)) fail_at(index.string(), "not the index of a TensorFlow checkpoint");
  std::map<uint64_t, std::shared_ptr<Shard>> shards;
  uint64_t shard_count = 0;
  Table(index).for_each([&](const std::string& key, std::string_view value) {
    if (key.empty()) {
      shard_count = read_shard_count(value, index.string());
      return;
    }
    const std::string where = tensor_label(index, key);
    const Variable variable = read_variable(value, where);
    if (variable.shard >= shard_count) {
      fail_at(where, "it is in shard " + std::to_string(variable.shard) + " of " + std::to_string(shard_count));
    }
    auto& shard = shards[variable.shard];
    if (!shard) shard = std::make_shared<Shard>(shard_path(index, variable.shard, shard_count));
    shard->add(key, variable.entry, variable.checksum);
  });
  Tensors tensors;
  for (const auto& [number, shard] : shards) {
    const Tensors part(shard);
    for (const std::string& name : part.names()) tensors.replace(name, part, name);
  }
  return tensors;
}

}  // namespace sotto
