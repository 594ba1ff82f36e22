// Corrects the checksums of a changed model file, so that only its structure is wrong.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "runtime/base/xxhash64.h"
#include "runtime/model/file_header.h"

namespace sotto {

inline void repair_checksums(std::span<uint8_t> bytes) {
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const uint64_t available = bytes.size() - sizeof header;
  header.metadata_checksum = xxhash64(bytes.data() + sizeof header, std::min(header.metadata_size, available));
  header.header_checksum = xxhash64(&header, offsetof(FileHeader, header_checksum));
  std::memcpy(bytes.data(), &header, sizeof header);
}

}  // namespace sotto
