// UTF-8: validation, decoding, and streams that keep characters whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sotto {

inline constexpr uint32_t kMaxCodePoint = 0x10FFFF;

inline bool is_scalar_value(uint32_t code_point) {
  return code_point <= kMaxCodePoint && (code_point < 0xD800 || code_point > 0xDFFF);
}

// A decoded scalar value: the bytes [0, size) of the input, with size >= 1.
struct Utf8Character {
  uint32_t code_point;  // valid only if `valid` is true
  uint32_t size;        // number of bytes consumed; if invalid, the maximal subpart (Unicode 3.9, D93b)
  bool valid;
  bool incomplete;  // true if more bytes could make the character valid
};

Utf8Character decode_utf8(const char* bytes, size_t size);

// Returns whether a byte is a continuation byte, that is, any byte of a character except the first.
constexpr bool is_continuation(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) == 0x80; }

// Writes the UTF-8 form of a scalar value and returns its size.
uint32_t encode_utf8(uint32_t code_point, uint8_t bytes[4]);

// Returns the offset of the first byte that is not part of valid UTF-8, or text.size().
size_t find_invalid_utf8(std::span<const char> text);

// Turns a stream of byte strings into whole characters. If a byte string ends inside a character, the bytes of the
// character are withheld until it is complete. Bytes that cannot belong to a character become U+FFFD, one per maximal
// subpart.
class Utf8Stream {
 public:
  // Returns the maximum number of bytes that append() writes for `size` bytes.
  static constexpr size_t output_bound(size_t size) { return 3 * (size + 3); }

  // Appends bytes to the stream, writes the whole characters to `output` and returns their size in bytes.
  size_t append(std::span<const char> bytes, char* output);
  // Ends the stream. An incomplete character becomes U+FFFD. Writes at most output_bound(0) bytes.
  size_t flush(char* output);
  void clear() { pending_size_ = 0; }
  // Returns whether bytes are withheld.
  bool has_incomplete() const { return pending_size_ > 0; }
  // Continues a text that ends with `tail`. An incomplete character at its end is withheld.
  void resume(std::span<const char> tail);

 private:
  char pending_[4] = {};
  uint8_t pending_size_ = 0;
};

}  // namespace sotto
