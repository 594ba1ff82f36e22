#include "runtime/grammar/compiler/grammar_image.h"

#include <cstring>

#include "runtime/base/arena.h"
#include "runtime/base/xxhash64.h"
#include "runtime/grammar/grammar_generated.h"

namespace sotto {
namespace {

// The bytes of the FlatBuffer before the block. They are constant except for checksum and size, so they can be written
// without a FlatBufferBuilder, which would allocate.
struct ImageHead {
  uint32_t root;  // from here to the table
  uint8_t identifier[4];
  // The layout of the table (vtable): sizes and positions in bytes.
  uint16_t layout_size;
  uint16_t table_size;
  uint16_t version_position;
  uint16_t checksum_position;
  uint16_t block_position;
  uint16_t padding;
  // The table.
  int32_t to_layout;  // backwards
  uint64_t checksum;
  uint32_t version;
  uint32_t block;  // from here to the vector
  uint32_t reserved[5];
  // The vector.
  uint32_t block_size;
};
constexpr size_t kTable = offsetof(ImageHead, to_layout);
static_assert(sizeof(ImageHead) == kMemoryAlignment);
static_assert(offsetof(ImageHead, block_size) + sizeof(uint32_t) == sizeof(ImageHead));

ImageHead make_head(const CompiledGrammar& grammar) {
  ImageHead head = {};
  head.root = kTable;
  std::memcpy(head.identifier, format::GrammarImageIdentifier(), sizeof head.identifier);
  head.layout_size = kTable - offsetof(ImageHead, layout_size) - sizeof head.padding;
  head.table_size = offsetof(ImageHead, reserved) - kTable;
  head.version_position = offsetof(ImageHead, version) - kTable;
  head.checksum_position = offsetof(ImageHead, checksum) - kTable;
  head.block_position = offsetof(ImageHead, block) - kTable;
  head.to_layout = kTable - offsetof(ImageHead, layout_size);
  head.version = kGrammarVersion;
  head.block = offsetof(ImageHead, block_size) - offsetof(ImageHead, block);
  head.block_size = static_cast<uint32_t>(grammar.size());
  head.checksum = xxhash64(&grammar, static_cast<size_t>(grammar.size()));
  return head;
}

Status corrupt(Error* error, const char* what) { return fail_at(error, Status::kGrammarCorrupt, 0, what); }

}  // namespace

size_t grammar_image_size(const CompiledGrammar& grammar) {
  return sizeof(ImageHead) + static_cast<size_t>(grammar.size());
}

void write_grammar_image(const CompiledGrammar& grammar, uint8_t* image) {
  const ImageHead head = make_head(grammar);
  std::memcpy(image, &head, sizeof head);
  std::memcpy(image + sizeof head, &grammar, static_cast<size_t>(grammar.size()));
}

Status open_grammar_image(std::span<const uint8_t> image, const CompiledGrammar** grammar, Error* error) {
  if (reinterpret_cast<uintptr_t>(image.data()) % kMemoryAlignment != 0) {
    return fail(error, Status::kMemoryMisaligned, "the image is not aligned to 64 bytes");
  }
  constexpr size_t kLargest = FLATBUFFERS_MAX_BUFFER_SIZE - 1;
  if (image.size() < sizeof(uint32_t) + flatbuffers::kFileIdentifierLength ||
      !format::GrammarImageBufferHasIdentifier(image.data())) {
    return corrupt(error, "not a grammar image");
  }
  if (image.size() > kLargest) return corrupt(error, "the image is larger than 2 GiB");
  flatbuffers::Verifier verifier(image.data(), image.size());
  if (!format::VerifyGrammarImageBuffer(verifier)) {
    return corrupt(error, "the image is truncated or no valid FlatBuffer");
  }
  const format::GrammarImage& table = *format::GetGrammarImage(image.data());
  if (table.version() != kGrammarVersion) {
    return fail_at(error, Status::kGrammarCorrupt, 0, "grammar format version ", table.version(),
                   "; this library reads version ", kGrammarVersion);
  }
  const std::span<const uint8_t> block{table.block()->data(), table.block()->size()};
  if (xxhash64(block.data(), block.size()) != table.checksum()) {
    return corrupt(error, "the grammar does not have its checksum");
  }
  return verify_grammar(block, grammar, error);
}

}  // namespace sotto
