#include "converters/file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "converters/descriptor.h"
#include "runtime/model/file_header.h"

namespace sotto {
namespace {

using nlohmann::json;

constexpr size_t kTransferLimit = size_t{1} << 30;  // some systems reject transfers of 2 GiB

[[noreturn]] void fail_with_errno(const std::filesystem::path& path, const char* action) {
  throw std::runtime_error(path.string() + ": cannot " + action + ": " + std::strerror(errno));
}

void read_fully(int descriptor, const std::filesystem::path& path, uint64_t offset, void* bytes, size_t size) {
  auto* at = static_cast<char*>(bytes);
  while (size > 0) {
    const int64_t got = descriptor::read_at(descriptor, offset, at, std::min(size, kTransferLimit));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with_errno(path, "read");
    if (got == 0) {
      throw std::runtime_error(path.string() + ": ends at byte " + std::to_string(offset) + ", " +
                               std::to_string(size) + " bytes too early");
    }
    at += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<size_t>(got);
  }
}

// Throws if a text is not JSON, repeats a key, or is nested deeply. A callback of json::parse() could check the same,
// but would take quadratic time: with a callback, the library searches the whole parent after each object.
class JsonChecker final : public nlohmann::json_sax<json> {
 public:
  explicit JsonChecker(const std::string& where) : where_(where) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return enter(); }
  bool start_array(size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }

  bool key(string_t& key) override {
    if (keys_.back().insert(key).second) return true;
    throw std::runtime_error(where_ + ": duplicate key: " + in_quotes(key));
  }

  bool parse_error(size_t, const std::string&, const json::exception& error) override {
    const std::string_view message = error.what();
    const size_t prefix = message.find("] ");
    throw std::runtime_error(
        where_ + ": not valid JSON: " + std::string(message.substr(prefix == std::string_view::npos ? 0 : prefix + 2)));
  }

 private:
  bool enter() {
    constexpr size_t kDepthLimit = 64;
    if (keys_.size() == kDepthLimit) throw std::runtime_error(where_ + ": nested too deeply");
    keys_.emplace_back();
    return true;
  }
  bool leave() {
    keys_.pop_back();
    return true;
  }

  const std::string& where_;
  std::vector<std::set<std::string>> keys_;  // of the objects and arrays that are open
};

}  // namespace

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = descriptor::open_to_read(path_);
  if (descriptor_ < 0) fail_with_errno(path_, "open");
  if (!descriptor::is_regular_file(descriptor_, &size_)) {
    descriptor::close(descriptor_);
    throw std::runtime_error(path_.string() + ": not a regular file");
  }
}

InputFile::~InputFile() { descriptor::close(descriptor_); }

void InputFile::read_at(uint64_t offset, void* bytes, size_t size) const {
  read_fully(descriptor_, path_, offset, bytes, size);
}

bool is_model_file(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  const InputFile file(path);
  uint8_t magic[sizeof FileHeader::kMagic];
  if (file.size() < sizeof magic) return false;
  file.read_at(0, magic, sizeof magic);
  return std::memcmp(magic, FileHeader::kMagic, sizeof magic) == 0;
}

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)) {
  temporary_ = path_;
  temporary_ += ".partial-" + std::to_string(descriptor::process_id());
  descriptor_ = descriptor::create(temporary_);
  if (descriptor_ < 0) fail_with_errno(path_, "create");
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  descriptor::close(descriptor_);
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void OutputFile::write_at(uint64_t offset, const void* bytes, size_t size) {
  const auto* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const int64_t put = descriptor::write_at(descriptor_, offset, at, std::min(size, kTransferLimit));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_with_errno(path_, "write");
    at += put;
    offset += static_cast<uint64_t>(put);
    size -= static_cast<size_t>(put);
  }
}

void OutputFile::read_at(uint64_t offset, void* bytes, size_t size) const {
  read_fully(descriptor_, path_, offset, bytes, size);
}

void OutputFile::commit() {
  if (!descriptor::make_durable(descriptor_)) fail_with_errno(path_, "write");
  descriptor::close(descriptor_);  // Windows does not rename an open file
  descriptor_ = -1;
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (!error) return;
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
  throw std::runtime_error(path_.string() + ": cannot replace: " + error.message());
}

std::string read_text_file(const std::filesystem::path& path, uint64_t limit) {
  const InputFile file(path);
  if (file.size() > limit) {
    throw std::runtime_error(path.string() + ": " + std::to_string(file.size()) + " bytes, more than the " +
                             std::to_string(limit) + " allowed");
  }
  std::string text(static_cast<size_t>(file.size()), '\0');
  file.read_at(0, text.data(), text.size());
  return text;
}

void write_text_file(const std::filesystem::path& path, std::string_view text) {
  OutputFile file(path);
  file.write_at(0, text.data(), text.size());
  file.commit();
}

json parse_strict_json(std::string_view text, const std::string& where) {
  // The parser treats a zero byte as the end of the text.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    throw std::runtime_error(where + ": not valid JSON: byte " + std::to_string(zero) + " is a zero");
  }
  JsonChecker checker(where);
  json::sax_parse(text, &checker);
  return json::parse(text);
}

std::string in_quotes(std::string_view text) { return json(text).dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace sotto
