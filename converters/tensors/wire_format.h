// The encoding of Protocol Buffers. LevelDB writes numbers in the same way.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "converters/tensors/tensor_file.h"

namespace sotto {

// A view of bytes, from whose front numbers and strings are taken. Error messages begin with `where`.
class Bytes {
 public:
  Bytes(std::string_view bytes, std::string where) : rest_(bytes), where_(std::move(where)) {}

  bool empty() const { return rest_.empty(); }
  [[noreturn]] void fail(const std::string& message) const { fail_at(where_, message); }

  std::string_view take(uint64_t size) {
    if (size > rest_.size()) fail("damaged: it ends " + std::to_string(size - rest_.size()) + " bytes too early");
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  template <typename T>
  T fixed() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  // Takes a varint: 7 bits per byte, least significant first.
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = fixed<uint8_t>();
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    fail("damaged: a number has more than 64 bits");
  }

 private:
  std::string_view rest_;
  std::string where_;
};

// Calls `field(number, value, bytes)` for each field of a Protocol Buffers message. `number` identifies the field. The
// content is `value` for a numeric field, and `bytes` for a string or a nested message.
template <typename Field>
void read_message(Bytes message, Field field) {
  enum WireType { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  while (!message.empty()) {
    const uint64_t tag = message.varint();
    uint64_t value = 0;
    std::string_view bytes;
    switch (tag % 8) {
      case kVarint:
        value = message.varint();
        break;
      case kFixed64:
        value = message.fixed<uint64_t>();
        break;
      case kBytes:
        bytes = message.take(message.varint());
        break;
      case kFixed32:
        value = message.fixed<uint32_t>();
        break;
      default:
        message.fail("damaged: a field of type " + std::to_string(tag % 8));
    }
    field(tag / 8, value, bytes);
  }
}

}  // namespace sotto
