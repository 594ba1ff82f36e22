// Reads and writes numbers and arrays as little-endian bytes, for saved states.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace sotto {

// Converts a number to or from little-endian byte order.
template <typename T>
T little_endian(T value) {
  static_assert(std::is_arithmetic_v<T>);
  if constexpr (std::endian::native == std::endian::big) {
    auto bytes = std::bit_cast<std::array<uint8_t, sizeof(T)>>(value);
    std::reverse(bytes.begin(), bytes.end());
    value = std::bit_cast<T>(bytes);
  }
  return value;
}

// Writes values in order.
class ByteWriter {
 public:
  // Writes to `bytes` or, if that is null, only computes the size.
  explicit ByteWriter(uint8_t* bytes) : bytes_(bytes) {}

  template <typename T>
  void put(T value) {
    value = little_endian(value);
    put_bytes(&value, sizeof value);
  }
  template <typename T>
  void put_array(const T* values, size_t count) {
    if constexpr (sizeof(T) == 1 || std::endian::native == std::endian::little) {
      put_bytes(values, count * sizeof(T));
    } else {
      for (size_t i = 0; i < count; ++i) put(values[i]);
    }
  }
  // The same as ByteReader::field(), so that one function can list the fields for both directions.
  template <typename T>
  void field(const T& value) {
    put(value);
  }
  size_t size() const { return size_; }

 private:
  void put_bytes(const void* bytes, size_t size) {
    if (bytes_ != nullptr && size > 0) std::memcpy(bytes_ + size_, bytes, size);
    size_ += size;
  }

  uint8_t* bytes_;
  size_t size_ = 0;
};

// Reads values in order. Beyond the end it returns zeros, and failed() returns true from then on.
class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  template <typename T>
  T get() {
    T value = {};
    get_array(&value, 1);
    return value;
  }
  template <typename T>
  void get_array(T* values, size_t count) {
    if (!has(count, sizeof(T))) return;
    if (count == 0) return;
    std::memcpy(values, bytes_.data() + at_, count * sizeof(T));
    at_ += count * sizeof(T);
    if constexpr (sizeof(T) > 1 && std::endian::native == std::endian::big) {
      for (size_t i = 0; i < count; ++i) values[i] = little_endian(values[i]);
    }
  }
  template <typename T>
  void field(T& value) {
    value = get<T>();
  }
  bool failed() const { return failed_; }
  void fail() { failed_ = true; }
  size_t rest() const { return bytes_.size() - at_; }

 private:
  bool has(size_t count, size_t size) {
    if (count > rest() / size) failed_ = true;
    return !failed_;
  }

  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace sotto
