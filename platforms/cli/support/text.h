// Bytes in and out of the program: reading, UTF-8, quoting, numbers for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace sotto::cli {
constexpr size_t kMaxTextSize = size_t{256} << 20;  // /dev/zero must not fill the memory

// A file, or standard input for "-".
struct Input {
  explicit Input(const std::string& path);  // throws a Failure naming it

  std::string name;  // for messages
  std::unique_ptr<FILE, int (*)(FILE*)> file;
};

// The whole of a file, or of standard input for "-". Throws a Failure naming it.
std::string read_all(const std::string& path);

// Replaces a file. Throws a Failure naming it.
void write_all(const std::string& path, const std::string& bytes);

// Throws a Failure if standard output did not take all that was printed.
void flush_output();

// One character at the front of non-empty `bytes`: its size, or if there is none, valid =
// false and the size of the bytes that one U+FFFD replaces.
struct Utf8Character {
  size_t size;
  bool valid;
};
Utf8Character first_character(std::string_view bytes);

bool is_utf8(std::string_view bytes);

// With U+FFFD in place of what is not UTF-8.
std::string to_utf8(std::string_view bytes);

// In double quotes; control characters and bytes that are not UTF-8 as \n, \t, \xNN.
std::string in_quotes(std::string_view bytes);

// Control characters other than newline and tab become U+FFFD: a model must not be able to
// drive the terminal. `text` is UTF-8.
std::string for_terminal(std::string_view text);

std::string hexadecimal(std::string_view bytes);

std::string with_thousands(uint64_t number);       // 1,234,567
std::string byte_size(uint64_t size);              // 12.3 MiB
std::string duration(double seconds);              // 12.3 ms
std::string rate(uint64_t count, double seconds);  // 1,234 tok/s; "-" if nothing was done

// Counted from 1, columns in characters.
struct Place {
  uint64_t line;
  uint64_t column;
};

Place place_of(std::string_view text, uint64_t offset);

// The line that holds byte `offset`, and a caret under the place; long lines are cut.
std::string shown_line(std::string_view text, uint64_t offset);

// "NAME:LINE:COLUMN: what" with the line in question below; "NAME: what" for UINT64_MAX. A place at the front of `what`
// is not repeated.
std::string with_place(const std::string& name, std::string_view text, uint64_t offset, const std::string& what);

}  // namespace sotto::cli
