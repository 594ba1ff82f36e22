#include "converters/tensors/zip.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace sotto {
namespace {

constexpr uint64_t kDirectoryLimit = 64'000'000;

// Signatures and sizes of the fixed parts of records.
constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr size_t kLocalHeaderSize = 30;
constexpr uint32_t kCentralHeader = 0x02014b50;
constexpr size_t kCentralHeaderSize = 46;
constexpr uint32_t kEnd = 0x06054b50;
constexpr size_t kEndSize = 22;
constexpr uint32_t kEnd64 = 0x06064b50;
constexpr size_t kEnd64Size = 56;
constexpr uint32_t kEnd64Locator = 0x07064b50;
constexpr size_t kEnd64LocatorSize = 20;

template <typename T>
T number_at(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

class ZipReader {
 public:
  explicit ZipReader(const InputFile& file) : file_(file) {}

  std::map<std::string, ZipEntry> read() {
    find_directory();
    const std::string directory = read_bytes(directory_offset_, directory_size_);
    size_t at = 0;
    while (at < directory.size()) at += read_entry(std::string_view(directory).substr(at));
    check_overlaps();
    return std::move(entries_);
  }

 private:
  // The range of an entry's header and data.
  struct Range {
    uint64_t begin;
    uint64_t end;
    std::string name;
  };

  [[noreturn]] void fail(const std::string& message) const {
    throw std::runtime_error(file_.path().string() + ": zip archive: " + message +
                             "; the file is damaged or incomplete");
  }

  std::string read_bytes(uint64_t offset, uint64_t size) const {
    if (offset > file_.size() || size > file_.size() - offset) {
      fail("byte " + std::to_string(offset) + " and " + std::to_string(size) +
           " bytes from there are outside the file");
    }
    std::string bytes(size, '\0');
    file_.read_at(offset, bytes.data(), bytes.size());
    return bytes;
  }

  // Finds the end record and reads the range of the central directory from it. Only a comment may follow the record.
  void find_directory() {
    constexpr uint64_t kCommentLimit = 65535;
    const uint64_t tail_size = std::min<uint64_t>(file_.size(), kEndSize + kCommentLimit);
    const uint64_t tail_offset = file_.size() - tail_size;
    const std::string tail = read_bytes(tail_offset, tail_size);
    for (size_t at = tail.size() - std::min(tail.size(), kEndSize) + 1; at-- > 0;) {
      if (tail.size() - at < kEndSize || number_at<uint32_t>(tail, at) != kEnd) continue;
      directory_size_ = number_at<uint32_t>(tail, at + 12);
      directory_offset_ = number_at<uint32_t>(tail, at + 16);
      end_offset_ = tail_offset + at;
      read_zip64();
      if (directory_size_ > kDirectoryLimit) fail("its directory has " + std::to_string(directory_size_) + " bytes");
      if (directory_offset_ > end_offset_ || directory_size_ > end_offset_ - directory_offset_) {
        fail("its directory is outside the file");
      }
      return;
    }
    fail("missing end record");
  }

  // If there is a ZIP64 end record, reads the range of the directory from it instead.
  void read_zip64() {
    if (end_offset_ < kEnd64LocatorSize) return;
    const std::string locator = read_bytes(end_offset_ - kEnd64LocatorSize, kEnd64LocatorSize);
    if (number_at<uint32_t>(locator, 0) != kEnd64Locator) return;
    const auto offset = number_at<uint64_t>(locator, 8);
    const std::string end = read_bytes(offset, kEnd64Size);
    if (number_at<uint32_t>(end, 0) != kEnd64) fail("missing ZIP64 record");
    directory_size_ = number_at<uint64_t>(end, 40);
    directory_offset_ = number_at<uint64_t>(end, 48);
    end_offset_ = offset;
  }

  // Reads the directory entry at the start of `bytes`. Returns the size of this directory entry.
  size_t read_entry(std::string_view bytes) {
    if (bytes.size() < kCentralHeaderSize || number_at<uint32_t>(bytes, 0) != kCentralHeader) {
      fail("invalid directory entry");
    }
    const auto flags = number_at<uint16_t>(bytes, 8);
    const auto method = number_at<uint16_t>(bytes, 10);
    uint64_t stored_size = number_at<uint32_t>(bytes, 20);
    uint64_t size = number_at<uint32_t>(bytes, 24);
    const size_t name_size = number_at<uint16_t>(bytes, 28);
    const size_t extra_size = number_at<uint16_t>(bytes, 30);
    const size_t comment_size = number_at<uint16_t>(bytes, 32);
    uint64_t header = number_at<uint32_t>(bytes, 42);
    const size_t total = kCentralHeaderSize + name_size + extra_size + comment_size;
    if (bytes.size() < total) fail("invalid directory entry");
    const std::string name(bytes.substr(kCentralHeaderSize, name_size));
    read_extra(bytes.substr(kCentralHeaderSize + name_size, extra_size), {&size, &stored_size, &header}, name);

    const std::string local = read_bytes(header, kLocalHeaderSize);
    if (number_at<uint32_t>(local, 0) != kLocalHeader) fail("missing header of entry " + in_quotes(name));
    ZipEntry entry;
    entry.offset = header + kLocalHeaderSize + number_at<uint16_t>(local, 26) + number_at<uint16_t>(local, 28);
    entry.size = size;
    entry.is_stored = method == 0 && (flags & 1) == 0;
    if (entry.is_stored && size != stored_size) fail("entry " + in_quotes(name) + " has two sizes");
    if (entry.offset > directory_offset_ || stored_size > directory_offset_ - entry.offset) {
      fail("the data of entry " + in_quotes(name) + " is outside the file");
    }
    ranges_.push_back({header, entry.offset + stored_size, name});
    if (!entries_.emplace(name, entry).second) fail("duplicate entry: " + in_quotes(name));
    return total;
  }

  // Replaces each value that is 2^32 - 1 by the next 64-bit value of the ZIP64 extra field.
  void read_extra(std::string_view extra, std::vector<uint64_t*> values, const std::string& name) const {
    constexpr uint16_t kZip64 = 1;
    while (extra.size() >= 4) {
      const auto id = number_at<uint16_t>(extra, 0);
      const size_t size = std::min<size_t>(number_at<uint16_t>(extra, 2), extra.size() - 4);
      std::string_view field = extra.substr(4, size);
      extra.remove_prefix(4 + size);
      if (id != kZip64) continue;
      for (uint64_t* value : values) {
        if (*value != UINT32_MAX) continue;
        if (field.size() < sizeof(uint64_t)) fail("the ZIP64 field of entry " + in_quotes(name) + " is too short");
        *value = number_at<uint64_t>(field, 0);
        field.remove_prefix(sizeof(uint64_t));
      }
    }
  }

  void check_overlaps() {
    std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    for (size_t i = 1; i < ranges_.size(); ++i) {
      if (ranges_[i].begin >= ranges_[i - 1].end) continue;
      fail("entries " + in_quotes(ranges_[i - 1].name) + " and " + in_quotes(ranges_[i].name) + " overlap");
    }
  }

  const InputFile& file_;
  uint64_t end_offset_ = 0;
  uint64_t directory_offset_ = 0;
  uint64_t directory_size_ = 0;
  std::map<std::string, ZipEntry> entries_;
  std::vector<Range> ranges_;
};

}  // namespace

bool is_zip(const InputFile& file) {
  uint32_t signature = 0;
  if (file.size() < sizeof signature) return false;
  file.read_at(0, &signature, sizeof signature);
  return signature == kLocalHeader;
}

std::map<std::string, ZipEntry> read_zip_directory(const InputFile& file) { return ZipReader(file).read(); }

}  // namespace sotto
