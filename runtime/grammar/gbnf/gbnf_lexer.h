// A cursor over GBNF text: white space, comments, names, numbers and characters.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/status.h"

namespace sotto {

class GbnfLexer {
 public:
  GbnfLexer(std::span<const char> text, Error* error) : text_(text), error_(error) {}

  size_t offset() const { return at_; }
  void seek(size_t offset) { at_ = offset; }
  bool at_end() const { return at_ == text_.size(); }
  // NUL at the end.
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    if (!at(c)) return false;
    ++at_;
    return true;
  }
  bool take(const char* word);

  // Blanks and a comment, and also line ends if `newlines`.
  void skip_space(bool newlines);
  // Empty if there is none. Dots count only between other characters of a name.
  std::span<const char> name();
  // At most kMaxRepetitions; `*digits` is false if there is no number.
  Status number(uint32_t* value, bool* digits);
  // One character of a text or class, escaped or not.
  Status character(uint32_t* code_point);

  std::span<const char> text() const { return text_; }
  Status fail(size_t offset, const char* what) const;

 private:
  Status escape(uint32_t* code_point);
  Status hexadecimal(size_t begin, uint32_t digits, uint32_t* code_point);

  std::span<const char> text_;
  Error* error_;
  size_t at_ = 0;
};

}  // namespace sotto
