// Fuzzes the index of TensorFlow checkpoints. The input is a block of its table. The target wraps it in a valid file,
// because few changes of a whole file would pass the checksums. Only std::runtime_error may be thrown.
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "converters/tensors/crc32c.h"
#include "converters/tensors/tensor_bundle.h"
#include "tests/fuzz/scratch_file.h"

namespace {

using namespace sotto;

constexpr size_t kDataSize = 368;  // size of the data of the tensors in the corpus

void append_varint(std::string& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
}

void append_number(std::string& bytes, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
}

// Appends a block with its trailer and returns its handle.
std::string append_block(std::string& file, std::string block) {
  std::string handle;
  append_varint(handle, file.size());
  append_varint(handle, block.size());
  block.push_back(0);  // no compression
  append_number(block, mask_crc32c(extend_crc32c(0, block.data(), block.size())), 4);
  file += block;
  return handle;
}

std::string index_of(const std::string& block) {
  const std::string restarts("\0\0\0\0\1\0\0\0", 8);
  std::string file;
  const std::string handle = append_block(file, block);
  std::string index;
  append_varint(index, 0);
  append_varint(index, 1);
  append_varint(index, handle.size());
  std::string footer = append_block(file, restarts);
  footer += append_block(file, index + "z" + handle + restarts);
  footer.resize(40);
  append_number(footer, 0xDB4775248B80FB57, 8);
  return file + footer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ScratchFile index(".index");
  static const ScratchFile shard(".data-00000-of-00001");
  static const bool has_data = (shard.write(std::string(kDataSize, '\0')), true);
  const std::string bytes = index_of({reinterpret_cast<const char*>(data), size});
  index.write(bytes);
  try {
    const Tensors tensors = open_tensor_bundle(index.path());
    for (const std::string& name : tensors.names()) {
      const TensorEntry& entry = tensors.entry(name);
      if (!has_data || entry.offset > kDataSize || entry.size > kDataSize - entry.offset) std::abort();
      try {
        if (tensors.read(name, 0, entry.element_count).size() != entry.element_count) std::abort();
      } catch (const std::runtime_error&) {
        // The tensor is not of a float type, or its checksum is wrong.
      }
    }
  } catch (const std::runtime_error&) {
    // The index was rejected with a message.
  }
  return 0;
}
