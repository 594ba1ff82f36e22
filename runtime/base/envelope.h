// The bytes around a saved session or conversation. In this order, and little-endian: the magic bytes (8), the version
// and a number of the format (32 bits each), the size of all bytes and the fingerprint of the model (64 bits each); the
// contents; XXH64 of all bytes before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/byte_stream.h"
#include "runtime/base/status.h"

namespace sotto {

struct Envelope {
  static constexpr size_t kHeadSize = 32;
  static constexpr size_t kTailSize = sizeof(uint64_t);

  // The part of the head that differs between the states of one format.
  struct Head {
    uint32_t number = 0;
    uint64_t fingerprint = 0;
  };

  char magic[9];
  const char* name;  // in messages, for example "saved state"
  uint32_t version;  // open() rejects every other version

  // Returns the size of what save() writes.
  template <typename Write>
  size_t size(Write write) const {
    ByteWriter measure(nullptr);
    write(&measure);
    return kHeadSize + measure.size() + kTailSize;
  }
  // Writes the head, the contents that write(ByteWriter*) writes, and the checksum.
  template <typename Write>
  void save(uint8_t* bytes, const Head& head, Write write) const {
    ByteWriter writer(bytes);
    write_head(head, size(write), &writer);
    write(&writer);
    write_checksum(bytes, &writer);
  }
  // Checks everything around the contents. The bytes may come from an untrusted source. Fails with kStateCorrupt.
  Status open(std::span<const uint8_t> bytes, Head* head, std::span<const uint8_t>* contents, Error* error) const;

 private:
  void write_head(const Head& head, uint64_t size, ByteWriter* writer) const;
  static void write_checksum(const uint8_t* bytes, ByteWriter* writer);
};

}  // namespace sotto
