#include "platforms/cli/support/text.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <random>

#include "platforms/cli/support/failure.h"
#include "platforms/command_line/system.h"

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

// Writes all bytes and closes the file. `file` may be null. Returns false and sets errno on failure.
bool write_file(FILE* file, const std::string& bytes) {
  if (file == nullptr) return false;
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() && std::fflush(file) == 0;
  const int error = errno;
  const bool closed = std::fclose(file) == 0;
  if (!written) errno = error;
  return written && closed;
}

// East Asian characters and emoji take two columns on a terminal.
constexpr struct {
  uint32_t first;
  uint32_t last;
} kWide[] = {{0x1100, 0x115f},   {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},  {0xf900, 0xfaff},
             {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},  {0x1f300, 0x1f64f},
             {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

uint32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  uint32_t code = character.size() == 1 ? first : first & (0x7fu >> character.size());
  for (const char byte : character.substr(1)) {
    code = code << 6 | (static_cast<unsigned char>(byte) & 0x3f);
  }
  return code;
}

}  // namespace

Input::Input(const std::string& path) : name(path), file(nullptr, std::fclose) {
  if (path == "-") {
    name = "standard input";
    file = {stdin, [](FILE*) { return 0; }};
    if (is_terminal(stdin)) {
      std::fprintf(stderr, "sotto: reading from the terminal; %s at the start of a line ends the text\n",
                   kEndOfInputKeys);
    }
    return;
  }
  file.reset(std::fopen(path.c_str(), "rb"));
  if (!file) throw Failure(name + ": " + std::strerror(errno));
}

std::string read_all(const std::string& path) {
  const Input input(path);
  std::string text;
  char buffer[65536];
  // Stops at the first end of file, because reading from a terminal could continue after it.
  while (!std::feof(input.file.get()) && !std::ferror(input.file.get())) {
    text.append(buffer, std::fread(buffer, 1, sizeof buffer, input.file.get()));
    if (text.size() > kMaxTextSize) throw Failure(input.name + ": more than 256 MiB of text");
  }
  if (std::ferror(input.file.get())) throw Failure(input.name + ": " + std::strerror(errno));
  return text;
}

bool read_line(const Input& input, uint64_t number, std::string& line) {
  const auto fail = [&](const std::string& problem) {
    throw Failure(input.name + ": line " + std::to_string(number) + ": " + problem);
  };
  FILE* file = input.file.get();
  line.clear();
  int c;
  while ((c = read_byte(file)) != EOF && c != '\n') {
    if (line.size() == kMaxTextSize) fail("longer than 256 MiB");
    line += static_cast<char>(c);
  }
  if (std::ferror(file)) fail(std::strerror(errno));
  return c == '\n' || !line.empty();
}

void write_all(const std::string& path, const std::string& bytes) {
  std::error_code ignored;
  std::filesystem::path target = std::filesystem::weakly_canonical(path, ignored);
  if (target.empty()) target = path;
  const std::filesystem::file_status old = std::filesystem::status(target, ignored);
  if (std::filesystem::exists(old) && !std::filesystem::is_regular_file(old)) {
    if (write_file(std::fopen(path.c_str(), "wb"), bytes)) return;
    throw Failure(path + ": " + std::strerror(errno));
  }
  // Writes a temporary file and renames it at the end, so that a failure leaves the old file intact.
  const std::string temporary = target.string() + ".partial-" + std::to_string(std::random_device()());
  FILE* file = std::fopen(temporary.c_str(), "wbx");
  if (file == nullptr) throw Failure(path + ": " + std::strerror(errno));
  std::error_code error;
  if (std::filesystem::exists(old)) std::filesystem::permissions(temporary, old.permissions(), error);
  if (!write_file(file, bytes) && !error) error = {errno, std::generic_category()};
  if (!error) std::filesystem::rename(temporary, target, error);
  if (!error) return;
  std::filesystem::remove(temporary, ignored);
  throw Failure(path + ": " + error.message());
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

size_t columns_of(std::string_view character) {
  const uint32_t code = code_point(character);
  const bool is_wide = std::any_of(std::begin(kWide), std::end(kWide),
                                   [&](const auto& range) { return code >= range.first && code <= range.last; });
  return is_wide ? 2 : 1;
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

std::string printable(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const Utf8Character character = first_character(bytes);
    const std::string_view value = bytes.substr(0, character.size);
    if (value == "\n") {
      text += "\\n";
    } else if (value == "\t") {
      text += "\\t";
    } else if (character.valid && !is_control(value)) {
      text += value;
    } else {
      for (const char byte : value) text += escaped_byte(byte);
    }
    bytes.remove_prefix(character.size);
  }
  return text;
}

std::string in_quotes(std::string_view bytes) {
  std::string text = "\"";
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.find_first_of("\"\\"), bytes.size());
    text += printable(bytes.substr(0, size));
    if (size < bytes.size()) text += {'\\', bytes[size]};
    bytes.remove_prefix(std::min(size + 1, bytes.size()));
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

std::string unescaped(std::string_view text) {
  constexpr std::string_view kNames = "nrt\\'\"", kCharacters = "\n\r\t\\'\"";
  std::string plain;
  while (!text.empty()) {
    const size_t name = text.size() > 1 && text[0] == '\\' ? kNames.find(text[1]) : std::string_view::npos;
    uint8_t byte = 0;
    if (name != std::string_view::npos) {
      plain += kCharacters[name];
      text.remove_prefix(2);
    } else if (text.starts_with("\\x") && text.size() >= 4 &&
               std::from_chars(text.data() + 2, text.data() + 4, byte, 16).ptr == text.data() + 4) {
      plain += static_cast<char>(byte);
      text.remove_prefix(4);
    } else {
      plain += text.front();
      text.remove_prefix(1);
    }
  }
  return plain;
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

std::string decimal(double number, int digits) {
  if (std::isnan(number)) return "-";
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f", digits, number);
  const std::string text = buffer;
  const bool is_zero = text.find_first_not_of("-0.") == std::string::npos;
  return is_zero && text[0] == '-' ? text.substr(1) : text;
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
  return with_thousands(static_cast<uint64_t>(std::llround(per_second))) + " tok/s";
}

namespace {

constexpr size_t kIndent = 4;
constexpr size_t kBefore = 60;  // number of columns shown before the place
constexpr size_t kAfter = 30;

// A character as it is shown, with the number of bytes that it represents.
struct Shown {
  std::string text;
  size_t columns;
  size_t size;
};

Shown shown_character(std::string_view bytes) {
  const Utf8Character character = first_character(bytes);
  const std::string_view value = bytes.substr(0, character.size);
  if (value == "\t") return {" ", 1, 1};
  if (!character.valid) return {"\xef\xbf\xbd", 1, character.size};
  return {for_terminal(value), columns_of(value), character.size};
}

bool continues_character(std::string_view text, size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns the message without "LINE:COLUMN: ".
std::string_view without_place(std::string_view message) {
  size_t at = 0;
  for (int part = 0; part < 2; ++part) {
    const size_t begin = at;
    while (at < message.size() && is_digit(message[at])) ++at;
    if (at == begin || at == message.size() || message[at] != ':') return message;
    ++at;
  }
  if (at == message.size() || message[at] != ' ') return message;
  return message.substr(at + 1);
}

}  // namespace

Place place_of(std::string_view text, uint64_t offset) {
  Place place = {1, 1};
  const size_t end = static_cast<size_t>(std::min<uint64_t>(offset, text.size()));
  for (size_t i = 0; i < end; ++i) {
    if (text[i] == '\n') {
      ++place.line;
      place.column = 1;
    } else if (!continues_character(text, i)) {
      ++place.column;
    }
  }
  return place;
}

std::string shown_line(std::string_view text, uint64_t offset) {
  size_t at = static_cast<size_t>(std::min<uint64_t>(offset, text.size()));
  size_t begin = at;
  while (begin > 0 && text[begin - 1] != '\n') --begin;
  // Moves back to the start of a character.
  for (int i = 0; i < 3 && at > begin && continues_character(text, at); ++i) --at;
  const bool is_cut = at - begin > 4 * kBefore;
  if (is_cut) begin = at - kBefore;
  while (is_cut && begin < at && continues_character(text, begin)) ++begin;

  std::string line = is_cut ? "..." : "";
  size_t column = is_cut ? 3 : 0;
  size_t caret = column;
  for (size_t i = begin; i < text.size() && text[i] != '\n' && text[i] != '\r';) {
    if (i <= at) caret = column;
    if (i > at && column > caret + kAfter) {
      line += "...";
      break;
    }
    const Shown shown = shown_character(text.substr(i));
    line += shown.text;
    column += shown.columns;
    i += shown.size;
    if (i <= at) caret = column;
  }
  const std::string indent(kIndent, ' ');
  return indent + line + '\n' + indent + std::string(caret, ' ') + '^';
}

std::string with_place(const std::string& name, std::string_view text, uint64_t offset, const std::string& message) {
  if (offset > text.size()) return name + ": " + message;
  const Place place = place_of(text, offset);
  return name + ':' + std::to_string(place.line) + ':' + std::to_string(place.column) + ": " +
         std::string(without_place(message)) + '\n' + shown_line(text, offset);
}

}  // namespace sotto::cli
