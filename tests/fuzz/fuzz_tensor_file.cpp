// Fuzzes files of tensors (safetensors, PyTorch): opens the input as a file and reads every tensor. Only
// std::runtime_error may be thrown, and the data of tensors must be within the file.
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "converters/tensors/tensors.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

// A file for all inputs, removed at exit.
class ScratchFile {
 public:
  ScratchFile()
      : path_(std::filesystem::temp_directory_path() / ("sotto-fuzz-" + std::to_string(getpid()) + ".tensors")) {}
  ~ScratchFile() { remove(); }

  const std::filesystem::path& path() const { return path_; }
  // Writes a new file, because some file systems wait for the disk when a file is overwritten.
  void write(const uint8_t* data, size_t size) const {
    remove();
    std::ofstream file(path_, std::ios::binary);
    file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    check(file.good());
  }

 private:
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  std::filesystem::path path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ScratchFile scratch;
  scratch.write(data, size);
  try {
    const auto file = sotto::open_tensor_file(scratch.path());
    for (const auto& [name, entry] : file->tensors()) {
      check(entry.offset <= size && entry.size <= size - entry.offset);
      try {
        const auto values = file->read(name, 0, entry.element_count);
        check(values.size() == entry.element_count);
        for (const float value : values) check(std::isfinite(value));
      } catch (const std::runtime_error&) {
        // The tensor is not of a float type, or not finite.
      }
    }
  } catch (const std::runtime_error&) {
    // The file was rejected with a message.
  }
  return 0;
}
