// Reads and writes numbers and arrays as bytes, for saved states. Values are copied in the byte order of the CPU,
// because every supported CPU is little-endian (xxhash64.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace sotto {

// Writes values in order.
class ByteWriter {
 public:
  // Writes to `bytes` or, if that is null, only computes the size.
  explicit ByteWriter(uint8_t* bytes) : bytes_(bytes) {}

  template <typename T>
  void put(T value) {
    put_array(&value, 1);
  }
  template <typename T>
  void put_array(const T* values, size_t count) {
    static_assert(std::is_arithmetic_v<T>);
    const size_t size = count * sizeof(T);
    if (bytes_ != nullptr && size > 0) std::memcpy(bytes_ + size_, values, size);
    size_ += size;
  }
  // The same as ByteReader::field(), so that one function can list the fields for both directions.
  template <typename T>
  void field(const T& value) {
    put(value);
  }
  size_t size() const { return size_; }

 private:
  uint8_t* bytes_;
  size_t size_ = 0;
};

// Reads values in order. After an attempt to read beyond the end, failed() is true, get() returns 0, and get_array()
// writes nothing.
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
