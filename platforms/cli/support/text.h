// Reads and writes files, converts and quotes text, and formats human-readable numbers and messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace sotto::cli {

constexpr size_t kMaxTextSize = size_t{256} << 20;  // keeps /dev/zero from filling the memory

// A file, or standard input for "-".
struct Input {
  explicit Input(const std::string& path);  // throws a Failure that names the path

  std::string name;  // for use in messages
  std::unique_ptr<FILE, int (*)(FILE*)> file;
};

// Returns the contents of a file, or of standard input for "-". Throws a Failure that names the file.
std::string read_all(const std::string& path);

// Reads a line, without its end. Returns false at the end of the input. The last line may lack a line end. Throws a
// Failure that names line `number`.
bool read_line(const Input& input, uint64_t number, std::string& line);

// Replaces the contents of a file atomically. Throws a Failure that names the file.
void write_all(const std::string& path, const std::string& bytes);

// Flushes standard output. Throws a Failure if any output was lost.
void flush_output();

// The first character of `bytes`, which must not be empty. If it is not UTF-8, `valid` is false, and `size` is the
// number of bytes that one U+FFFD replaces.
struct Utf8Character {
  size_t size;
  bool valid;
};
Utf8Character first_character(std::string_view bytes);

// Returns the number of columns that a UTF-8 character takes on a terminal.
size_t columns_of(std::string_view character);

bool is_utf8(std::string_view bytes);

// Replaces bytes that are not UTF-8 by U+FFFD.
std::string to_utf8(std::string_view bytes);

// Returns `bytes` with control characters and bytes that are not UTF-8 as \n, \t and \xNN.
std::string printable(std::string_view bytes);

// Returns the same in double quotes, with a backslash before quotes and backslashes.
std::string in_quotes(std::string_view bytes);

// Replaces control characters other than newline and tab by U+FFFD, because a model must not be able to control the
// terminal. `text` is UTF-8.
std::string for_terminal(std::string_view text);

// Replaces the escapes \n, \r, \t, \\, \', \" and \xNN by their characters and bytes. Other backslashes stay.
std::string unescaped(std::string_view text);

std::string hexadecimal(std::string_view bytes);

std::string decimal(double number, int digits);    // for example 1.250 for 3 digits, or "-" for NaN
std::string with_thousands(uint64_t number);       // for example 1,234,567
std::string byte_size(uint64_t size);              // for example 12.3 MiB
std::string duration(double seconds);              // for example 12.3 ms
std::string rate(uint64_t count, double seconds);  // for example 1,234 tok/s, or "-" if nothing was done

// A place in a text. Both numbers start at 1, and columns count characters.
struct Place {
  uint64_t line;
  uint64_t column;
};

Place place_of(std::string_view text, uint64_t offset);

// Returns the line that contains byte `offset`, and below it a caret under that byte. Long lines are truncated.
std::string shown_line(std::string_view text, uint64_t offset);

// Returns "NAME:LINE:COLUMN: message" with the line below it, or "NAME: message" if `offset` is UINT64_MAX. A
// "LINE:COLUMN: " at the beginning of `message` is dropped.
std::string with_place(const std::string& name, std::string_view text, uint64_t offset, const std::string& message);

}  // namespace sotto::cli
