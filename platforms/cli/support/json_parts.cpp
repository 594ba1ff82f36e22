// The parts of a JSON text as they are written.
#include "platforms/cli/support/json_parts.h"

#include <algorithm>
#include <cstdint>

#include "platforms/cli/support/failure.h"

namespace sotto::cli {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) { skip_space(); }

  [[noreturn]] void fail(const std::string& what) const {
    throw Failure("not JSON: " + what + " at byte " + std::to_string(at_));
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size()); }

  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    skip_space();
    return true;
  }

  void expect(char c) {
    if (!take(c)) fail(std::string("'") + c + "' is expected");
  }

  void expect_end() const {
    if (at_ != text_.size()) fail("text behind the value");
  }

  std::string_view value() {
    const size_t begin = at_;
    if (at_ < text_.size() && text_[at_] == '"') {
      skip_string();
    } else if (at_ < text_.size() && (text_[at_] == '{' || text_[at_] == '[')) {
      skip_container();
    } else {
      at_ = std::min(text_.find_first_of(" \t\r\n,:]}", at_), text_.size());
    }
    if (at_ == begin) fail("a value is expected");
    const std::string_view value = text_.substr(begin, at_ - begin);
    skip_space();
    return value;
  }

 private:
  void skip_string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    if (at_ >= text_.size()) {
      at_ = text_.size();
      fail("a string is not closed");
    }
    ++at_;
  }

  void skip_container() {
    uint64_t depth = 0;
    do {
      if (at_ == text_.size()) fail("a list or an object is not closed");
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      ++at_;
    } while (depth > 0);
  }

  std::string_view text_;
  size_t at_ = 0;
};

uint32_t hexadecimal_unit(std::string_view string, size_t at) {
  uint32_t unit = 0;
  for (size_t i = at; i < at + 4; ++i) {
    const char c = i < string.size() ? string[i] : '\0';
    const bool is_digit = c >= '0' && c <= '9';
    const char letter = static_cast<char>(c | 0x20);
    if (!is_digit && !(letter >= 'a' && letter <= 'f')) throw Failure("not JSON: malformed \\u");
    unit = unit << 4 | static_cast<uint32_t>(is_digit ? c - '0' : letter - 'a' + 10);
  }
  return unit;
}

void append_code(uint32_t code, std::string& text) {
  const auto add = [&text](uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6);
    add(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  } else {
    add(0xf0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  }
}

// `at` is behind "\u"; it is moved behind the digits.
uint32_t escaped_code(std::string_view string, size_t& at) {
  const uint32_t high = hexadecimal_unit(string, at);
  at += 4;
  if (high < 0xd800 || high > 0xdbff || string.substr(at, 2) != "\\u") return high;
  const uint32_t low = hexadecimal_unit(string, at + 2);
  if (low < 0xdc00 || low > 0xdfff) return high;
  at += 6;
  return 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff));
}

}  // namespace

std::vector<JsonMember> members_of(std::string_view object) {
  Reader reader(object);
  std::vector<JsonMember> members;
  reader.expect('{');
  if (!reader.take('}')) {
    do {
      std::string name = text_of(reader.value());
      reader.expect(':');
      members.push_back({std::move(name), reader.value()});
    } while (reader.take(','));
    reader.expect('}');
  }
  reader.expect_end();
  return members;
}

std::vector<std::string_view> elements_of(std::string_view list) {
  Reader reader(list);
  std::vector<std::string_view> elements;
  reader.expect('[');
  if (!reader.take(']')) {
    do {
      elements.push_back(reader.value());
    } while (reader.take(','));
    reader.expect(']');
  }
  reader.expect_end();
  return elements;
}

std::string text_of(std::string_view string) {
  if (string.size() < 2 || string.front() != '"' || string.back() != '"') {
    throw Failure("not JSON: a string is expected");
  }
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  string = string.substr(1, string.size() - 2);
  std::string text;
  for (size_t i = 0; i < string.size();) {
    if (static_cast<unsigned char>(string[i]) < 0x20) {
      throw Failure("not JSON: control character in a string");
    }
    if (string[i] != '\\') {
      text += string[i++];
      continue;
    }
    const char name = i + 1 < string.size() ? string[i + 1] : '\0';
    i += 2;
    const size_t known = kNames.find(name);
    if (name == 'u') {
      append_code(escaped_code(string, i), text);
    } else if (known != std::string_view::npos) {
      text += kMeant[known];
    } else {
      throw Failure("not JSON: unknown escape in a string");
    }
  }
  return text;
}

std::string from_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const size_t digit = kBase64.find(c);
    if (digit == std::string_view::npos) throw Failure("malformed base64");
    bits = (bits << 6 | static_cast<uint32_t>(digit)) & 0xffffff;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  if (count == 6) throw Failure("malformed base64");
  return bytes;
}

}  // namespace sotto::cli
