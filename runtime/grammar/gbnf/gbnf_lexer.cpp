#include "runtime/grammar/gbnf/gbnf_lexer.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/utf8.h"
#include "runtime/grammar/compiler/grammar_builder.h"
#include "runtime/grammar/gbnf/gbnf_parser.h"

namespace sotto {
namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Status fail_in_source(Error* error, std::span<const char> source, uint64_t offset, std::span<const char> what,
                      Status status) {
  constexpr size_t kShown = 32;
  uint64_t line = 1;
  uint64_t column = 1;
  for (size_t i = 0; i < offset && i < source.size(); ++i) {
    if (source[i] == '\n') {
      ++line;
      column = 1;
    } else if ((static_cast<uint8_t>(source[i]) & 0xC0) != 0x80) {
      ++column;
    }
  }
  const auto rest = source.subspan(static_cast<size_t>(std::min<uint64_t>(offset, source.size())));
  size_t size = 0;
  while (size < rest.size() && size < kShown && rest[size] != '\n') ++size;
  if (size == 0) {
    const bool ends = offset >= source.size();
    return fail_at(error, status, offset, line, ":", column, ": ", what,
                   ends ? " at the end of the text" : " at the end of the line");
  }
  return fail_at(error, status, offset, line, ":", column, ": ", what, " at '", rest.first(size), "'");
}

Status GbnfLexer::fail(size_t offset, const char* what) const {
  return fail_in_source(error_, text_, offset, {what, std::strlen(what)});
}

bool GbnfLexer::take(const char* word) {
  const size_t size = std::strlen(word);
  if (text_.size() - at_ < size || std::memcmp(text_.data() + at_, word, size) != 0) return false;
  at_ += size;
  return true;
}

void GbnfLexer::skip_space(bool newlines) {
  for (; !at_end(); ++at_) {
    const char c = peek();
    if (c == '#') {
      while (!at_end() && peek() != '\n') ++at_;
      if (at_end()) return;
    }
    const bool is_space = peek() == ' ' || peek() == '\t' || peek() == '\r';
    if (!is_space && !(newlines && peek() == '\n')) return;
  }
}

std::span<const char> GbnfLexer::name() {
  const size_t begin = at_;
  while (is_name_character(peek()) || (peek() == '.' && at_ > begin && is_name_character(peek(1)))) {
    ++at_;
  }
  return text_.subspan(begin, at_ - begin);
}

Status GbnfLexer::number(uint32_t* value, bool* digits) {
  const size_t begin = at_;
  uint64_t number = 0;
  while (is_digit(peek())) {
    number = number * 10 + static_cast<uint64_t>(peek() - '0');
    if (number > kMaxRepetitions) return fail(begin, "number above 2147483648");
    ++at_;
  }
  *value = static_cast<uint32_t>(number);
  *digits = at_ > begin;
  return Status::kOk;
}

Status GbnfLexer::hexadecimal(size_t begin, uint32_t digits, uint32_t* code_point) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < digits; ++i, ++at_) {
    const int digit = hex_value(peek());
    if (digit < 0) return fail(begin, "escape with too few hexadecimal digits");
    value = value << 4 | static_cast<uint32_t>(digit);
  }
  if (!is_scalar_value(value)) return fail(begin, "escape that is not a Unicode character");
  *code_point = value;
  return Status::kOk;
}

Status GbnfLexer::escape(uint32_t* code_point) {
  const size_t begin = at_++;
  const char kind = peek();
  if (at_end()) return fail(begin, "unfinished escape");
  ++at_;
  switch (kind) {
    case 'x':
      return hexadecimal(begin, 2, code_point);
    case 'u':
      return hexadecimal(begin, 4, code_point);
    case 'U':
      return hexadecimal(begin, 8, code_point);
    case 't':
      *code_point = '\t';
      return Status::kOk;
    case 'r':
      *code_point = '\r';
      return Status::kOk;
    case 'n':
      *code_point = '\n';
      return Status::kOk;
    default:
      constexpr char kPlain[] = {'\\', '"', '[', ']', '-', '/', '\''};
      if (std::find(std::begin(kPlain), std::end(kPlain), kind) == std::end(kPlain)) {
        return fail(begin, "unknown escape");
      }
      *code_point = static_cast<uint8_t>(kind);
      return Status::kOk;
  }
}

Status GbnfLexer::character(uint32_t* code_point) {
  if (at('\\')) return escape(code_point);
  const Utf8Character character = decode_utf8(text_.data() + at_, text_.size() - at_);
  if (!character.valid) return fail(at_, "text that is not UTF-8");
  *code_point = character.code_point;
  at_ += character.size;
  return Status::kOk;
}

}  // namespace sotto
