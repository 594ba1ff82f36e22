// A file for the inputs of a fuzz target, one after the other. It is removed at exit.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

class ScratchFile {
 public:
  explicit ScratchFile(const std::string& extension)
      : path_(std::filesystem::temp_directory_path() / ("sotto-fuzz-" + std::to_string(getpid()) + extension)) {}
  ~ScratchFile() { remove(); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Writes a new file, because some file systems wait for the disk when a file is overwritten.
  void write(std::string_view bytes) const {
    remove();
    std::ofstream file(path_, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file.good()) std::abort();
  }

 private:
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  std::filesystem::path path_;
};
