// Memory on pages of a chosen kind, and mapped files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "platforms/posix/sotto_posix.h"

namespace sotto::bench {

enum class Pages { kHuge, kSmall };

// A block of zeroed memory. The constructor throws std::runtime_error if there is not enough.
class Memory {
 public:
  Memory(size_t size, Pages pages);
  ~Memory() { sotto_posix_free(&memory_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  uint8_t* bytes() const { return static_cast<uint8_t*>(memory_.bytes); }
  size_t size() const { return memory_.size; }

 private:
  sotto_posix_memory memory_ = {};
};

class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile() { sotto_posix_unmap_file(&mapping_); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const void* bytes() const { return mapping_.bytes; }
  size_t size() const { return mapping_.size; }

 private:
  sotto_posix_mapping mapping_ = {};
};

}  // namespace sotto::bench
