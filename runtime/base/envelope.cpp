#include "runtime/base/envelope.h"

#include <cstring>

#include "runtime/base/xxhash64.h"

namespace sotto {
namespace {

constexpr size_t kMagicSize = 8;

}  // namespace

void Envelope::write_head(const Head& head, uint64_t size, ByteWriter* writer) const {
  writer->put_array(magic, kMagicSize);
  writer->field(version);
  writer->field(head.number);
  writer->field(size);
  writer->field(head.fingerprint);
}

void Envelope::write_checksum(const uint8_t* bytes, ByteWriter* writer) {
  writer->field(xxhash64(bytes, writer->size()));
}

Status Envelope::open(std::span<const uint8_t> bytes, Head* head, std::span<const uint8_t>* contents,
                      Error* error) const {
  constexpr auto kCorrupt = Status::kStateCorrupt;
  if (bytes.size() < kHeadSize + kTailSize) {
    return fail_at(error, kCorrupt, bytes.size(), "the ", name, " is shorter than its header");
  }
  if (std::memcmp(bytes.data(), magic, kMagicSize) != 0) {
    return fail_at(error, kCorrupt, 0, "not a ", name, ": its first bytes are not ", magic);
  }
  ByteReader reader(bytes.subspan(kMagicSize));
  uint32_t saved_version;
  uint64_t size, checksum;
  reader.field(saved_version);
  reader.field(head->number);
  reader.field(size);
  reader.field(head->fingerprint);
  if (saved_version != version) {
    return fail_at(error, kCorrupt, kMagicSize, "the ", name, " has version ", saved_version,
                   "; this library reads version ", version);
  }
  if (size != bytes.size()) {
    return fail_at(error, kCorrupt, bytes.size(), "the ", name, " has ", bytes.size(), " bytes; it must have ", size);
  }
  const size_t hashed = bytes.size() - kTailSize;
  ByteReader(bytes.subspan(hashed)).field(checksum);
  if (checksum != xxhash64(bytes.data(), hashed)) {
    return fail_at(error, kCorrupt, hashed, "the ", name, " has a wrong checksum");
  }
  *contents = bytes.subspan(kHeadSize, hashed - kHeadSize);
  return Status::kOk;
}

}  // namespace sotto
