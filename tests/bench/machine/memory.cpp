#include "tests/bench/machine/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <stdexcept>

namespace sotto::bench {
namespace {

constexpr size_t kMessageSize = 4096;

}  // namespace

Memory::Memory(size_t size, Pages pages) {
  char message[kMessageSize];
  if (sotto_posix_allocate(std::max<size_t>(size, 1), &memory_, message, sizeof message) != 0) {
    throw std::runtime_error(message);
  }
#ifdef MADV_NOHUGEPAGE
  if (pages == Pages::kSmall) madvise(memory_.bytes, memory_.mapped_size, MADV_NOHUGEPAGE);
#else
  (void)pages;
#endif
}

MappedFile::MappedFile(const std::string& path) {
  char message[kMessageSize];
  if (sotto_posix_map_file(path.c_str(), &mapping_, message, sizeof message) != 0) {
    throw std::runtime_error(message);
  }
}

}  // namespace sotto::bench
