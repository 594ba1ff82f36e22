// UTF-8: validation, decoding, and streams that keep characters whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sotto {

// A decoded scalar value: the bytes [0, size) of the input, with size >= 1.
struct Utf8Character {
  uint32_t code_point;  // meaningful only if `valid`
  uint32_t size;        // number of bytes consumed; if invalid, the maximal subpart (Unicode 3.9, D93b)
  bool valid;
  bool incomplete;  // whether the bytes are invalid only because they end too early
};

Utf8Character decode_utf8(const char* bytes, size_t size);

// Returns the offset of the first byte that is not part of valid UTF-8, or text.size().
size_t find_invalid_utf8(std::span<const char> text);

// Turns a stream of byte strings, which may end inside characters, into whole characters. Bytes that may begin a
// character are withheld; bytes that cannot belong to one become U+FFFD, one per maximal subpart.
class Utf8Stream {
 public:
  // Returns the maximal number of bytes that append() writes for `size` bytes.
  static constexpr size_t output_bound(size_t size) { return 3 * (size + 3); }

  // Appends to the stream, writes whole characters to `output` and returns their size.
  size_t append(std::span<const char> bytes, char* output);
  // Ends the stream: an unfinished character becomes U+FFFD. Writes at most output_bound(0) bytes.
  size_t flush(char* output);
  void clear() { pending_size_ = 0; }
  // Starts after a text that ends in `tail` and withholds an unfinished character at its end.
  void resume(std::span<const char> tail);

 private:
  char pending_[4] = {};
  uint8_t pending_size_ = 0;
};

}  // namespace sotto
