// The first 64 bytes of a .sotto file.
#pragma once

#include <cstdint>

namespace sotto {

struct FileHeader {
  static constexpr uint8_t kMagic[8] = {'S', 'O', 'T', 'T', 'O', '\r', '\n', 0x1a};
  static constexpr uint32_t kVersion = 1;

  uint8_t magic[8];
  uint32_t version;            // readers reject every other version
  uint32_t reserved;           // always 0
  uint64_t file_size;          // size of the whole file
  uint64_t metadata_size;      // size of the FlatBuffer that starts at byte 64
  uint64_t metadata_checksum;  // XXH64 of the FlatBuffer, seed 0
  uint64_t header_checksum;    // XXH64 of the bytes before this field, seed 0
  uint8_t padding[16];         // always 0
};
static_assert(sizeof(FileHeader) == 64);

}  // namespace sotto
