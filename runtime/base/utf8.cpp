#include "runtime/base/utf8.h"

#include <cstring>

namespace sotto {
namespace {

constexpr char kReplacement[] = {'\xEF', '\xBF', '\xBD'};  // U+FFFD

// Size of a character and range of its second byte, by lead byte (The Unicode Standard, table 3-7).
struct Lead {
  uint32_t size = 0;  // size of the character in bytes, or 0 if the byte is not a lead byte
  uint8_t second_min = 0x80;
  uint8_t second_max = 0xBF;
};

Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {1};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {};
}

}  // namespace

Utf8Character decode_utf8(const char* bytes, size_t size) {
  const auto first = static_cast<uint8_t>(bytes[0]);
  if (first < 0x80) return {first, 1, true, false};
  const Lead lead = lead_of(first);
  if (lead.size == 0) return {0, 1, false, false};
  uint32_t code_point = first & (0x7Fu >> lead.size);
  for (uint32_t i = 1; i < lead.size; ++i) {
    if (i == size) return {0, i, false, true};
    const auto byte = static_cast<uint8_t>(bytes[i]);
    const uint8_t min = i == 1 ? lead.second_min : 0x80;
    const uint8_t max = i == 1 ? lead.second_max : 0xBF;
    if (byte < min || byte > max) return {0, i, false, false};
    code_point = code_point << 6 | (byte & 0x3Fu);
  }
  return {code_point, lead.size, true, false};
}

uint32_t encode_utf8(uint32_t code_point, uint8_t bytes[4]) {
  const auto tail = [&](uint32_t shift) { return static_cast<uint8_t>(0x80 | (code_point >> shift & 0x3F)); };
  if (code_point < 0x80) {
    bytes[0] = static_cast<uint8_t>(code_point);
    return 1;
  }
  if (code_point < 0x800) {
    bytes[0] = static_cast<uint8_t>(0xC0 | code_point >> 6);
    bytes[1] = tail(0);
    return 2;
  }
  if (code_point < 0x10000) {
    bytes[0] = static_cast<uint8_t>(0xE0 | code_point >> 12);
    bytes[1] = tail(6);
    bytes[2] = tail(0);
    return 3;
  }
  bytes[0] = static_cast<uint8_t>(0xF0 | code_point >> 18);
  bytes[1] = tail(12);
  bytes[2] = tail(6);
  bytes[3] = tail(0);
  return 4;
}

size_t find_invalid_utf8(std::span<const char> text) {
  size_t at = 0;
  while (at < text.size()) {
    uint64_t eight;
    if (text.size() - at >= sizeof eight) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080u) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const Utf8Character character = decode_utf8(text.data() + at, text.size() - at);
    if (!character.valid) return at;
    at += character.size;
  }
  return at;
}

size_t Utf8Stream::append(std::span<const char> bytes, char* output) {
  char* end = output;
  size_t used = 0;
  while (pending_size_ > 0 || used < bytes.size()) {
    // Decodes one character from the pending bytes and up to three new ones.
    char window[sizeof pending_ + 3];
    std::memcpy(window, pending_, pending_size_);
    size_t size = pending_size_;
    for (size_t i = used; i < bytes.size() && size < 4; ++i) window[size++] = bytes[i];
    const Utf8Character character = decode_utf8(window, size);
    if (character.incomplete) {
      std::memcpy(pending_, window, size);
      pending_size_ = static_cast<uint8_t>(size);
      break;
    }
    const char* from = character.valid ? window : kReplacement;
    const size_t written = character.valid ? character.size : sizeof kReplacement;
    std::memcpy(end, from, written);
    end += written;
    used += character.size - pending_size_;
    pending_size_ = 0;
  }
  return static_cast<size_t>(end - output);
}

size_t Utf8Stream::flush(char* output) {
  if (pending_size_ == 0) return 0;
  pending_size_ = 0;
  std::memcpy(output, kReplacement, sizeof kReplacement);
  return sizeof kReplacement;
}

void Utf8Stream::resume(std::span<const char> tail) {
  clear();
  for (size_t size = 1; size <= 3 && size <= tail.size(); ++size) {
    const auto suffix = tail.last(size);
    const Utf8Character character = decode_utf8(suffix.data(), size);
    if (!character.incomplete || character.size != size) continue;
    for (const char byte : suffix) pending_[pending_size_++] = byte;
    return;
  }
}

}  // namespace sotto
