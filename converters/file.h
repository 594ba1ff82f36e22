// Files of the converter: input read at any offset, JSON of untrusted files, and output written under a temporary name
// and renamed at the end. Errors are std::runtime_error and name the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace sotto {

// A regular file that stays open for reading.
class InputFile {
 public:
  explicit InputFile(std::filesystem::path path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  uint64_t size() const { return size_; }
  void read_at(uint64_t offset, void* bytes, size_t size) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

// Returns whether `path` is a file that begins like a .sotto file.
bool is_model_file(const std::filesystem::path& path);

// A file with a temporary name next to `path` until commit(), so that an interrupted program leaves no file that looks
// complete. The destructor removes an uncommitted file.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write_at(uint64_t offset, const void* bytes, size_t size);
  void read_at(uint64_t offset, void* bytes, size_t size) const;
  // Makes the file durable and renames it to `path`, replacing an existing file.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

// Returns the contents of a text file. Throws if it has more than `limit` bytes.
std::string read_text_file(const std::filesystem::path& path, uint64_t limit);

void write_text_file(const std::filesystem::path& path, std::string_view text);

// Parses JSON, in which duplicate keys and deep nesting are errors. Messages begin with `where`.
nlohmann::json parse_strict_json(std::string_view text, const std::string& where);

// Returns `text` in quotes and on one line, for messages.
std::string in_quotes(std::string_view text);

}  // namespace sotto
