// Reading and writing of bytes, UTF-8, quoting, and numbers for people.
#include "platforms/cli/support/text.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "platforms/cli/support/failure.h"

namespace sotto::cli {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

std::string format(const char* pattern, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, pattern, value);
  return buffer;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (first == 0xc2) return static_cast<unsigned char>(character[1]) < 0xa0;  // U+0080..U+009F
  return first < 0x20 || first == 0x7f;
}

std::string escaped_byte(char byte) {
  char buffer[8];
  std::snprintf(buffer, sizeof buffer, "\\x%02x", static_cast<unsigned char>(byte));
  return buffer;
}

}  // namespace

Input::Input(const std::string& path) : name(path), file(nullptr, std::fclose) {
  if (path == "-") {
    name = "standard input";
    file = {stdin, [](FILE*) { return 0; }};
    return;
  }
  file.reset(std::fopen(path.c_str(), "rb"));
  if (!file) throw Failure(name + ": " + std::strerror(errno));
}

std::string read_all(const std::string& path) {
  const Input input(path);
  std::string text;
  char buffer[65536];
  size_t size;
  while ((size = std::fread(buffer, 1, sizeof buffer, input.file.get())) > 0) {
    text.append(buffer, size);
    if (text.size() > kMaxTextSize) throw Failure(input.name + ": more than 256 MiB of text");
  }
  if (std::ferror(input.file.get())) throw Failure(input.name + ": " + std::strerror(errno));
  return text;
}

void write_all(const std::string& path, const std::string& bytes) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "wb"), std::fclose);
  if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size() || std::fflush(file.get()) != 0) {
    throw Failure(path + ": " + std::strerror(errno));
  }
}

void flush_output() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return;
  throw Failure("standard output could not be written");
}

Utf8Character first_character(std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {1, true};
  if (first < 0xc2 || first > 0xf4) return {1, false};
  const size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  // The range of the second byte excludes overlong forms, surrogates and numbers beyond U+10FFFF.
  unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  for (size_t i = 1; i < size; ++i) {
    if (i >= bytes.size() || byte(i) < low || byte(i) > high) return {i, false};
    low = 0x80;
    high = 0xbf;
  }
  return {size, true};
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Utf8Character character = first_character(bytes);
    if (!character.valid) return false;
    bytes.remove_prefix(character.size);
  }
  return true;
}

std::string to_utf8(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const Utf8Character character = first_character(bytes);
    text += character.valid ? bytes.substr(0, character.size) : kReplacement;
    bytes.remove_prefix(character.size);
  }
  return text;
}

std::string in_quotes(std::string_view bytes) {
  std::string text = "\"";
  while (!bytes.empty()) {
    const Utf8Character character = first_character(bytes);
    const std::string_view value = bytes.substr(0, character.size);
    if (value == "\n") {
      text += "\\n";
    } else if (value == "\t") {
      text += "\\t";
    } else if (value == "\"" || value == "\\") {
      text += '\\';
      text += value;
    } else if (character.valid && !is_control(value)) {
      text += value;
    } else {
      for (const char byte : value) text += escaped_byte(byte);
    }
    bytes.remove_prefix(character.size);
  }
  return text + '"';
}

std::string for_terminal(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const std::string_view value = text.substr(0, character.size);
    const bool shown = character.valid && (value == "\n" || value == "\t" || !is_control(value));
    clean += shown ? value : kReplacement;
    text.remove_prefix(character.size);
  }
  return clean;
}

std::string hexadecimal(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char value : bytes) {
    const auto byte = static_cast<unsigned char>(value);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string with_thousands(uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string byte_size(uint64_t size) {
  constexpr double kKibi = 1024.0;
  const auto value = static_cast<double>(size);
  if (size < 1024) return std::to_string(size) + " B";
  if (value < kKibi * kKibi) return format("%.1f KiB", value / kKibi);
  if (value < kKibi * kKibi * kKibi) return format("%.1f MiB", value / (kKibi * kKibi));
  return format("%.2f GiB", value / (kKibi * kKibi * kKibi));
}

std::string duration(double seconds) {
  return seconds < 1.0 ? format("%.1f ms", seconds * 1e3) : format("%.2f s", seconds);
}

std::string rate(uint64_t count, double seconds) {
  if (count == 0 || seconds <= 0.0) return "-";
  const double per_second = static_cast<double>(count) / seconds;
  if (per_second < 100.0) return format("%.1f tok/s", per_second);
  return with_thousands(static_cast<uint64_t>(per_second + 0.5)) + " tok/s";
}

}  // namespace sotto::cli
