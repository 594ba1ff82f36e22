// Reads and writes numbers and arrays as bytes, for saved states. Values are copied in the byte order of the CPU,
// because every supported CPU is little-endian (xxhash64.cpp).
//
// ByteWriter, ByteChecker and ByteReader have the same members. One function therefore lists the parts of a format for
// all three: it saves an object, checks bytes from an untrusted source without changing the object, or stores bytes
// that have been checked. For example:
//
//   template <typename Object, typename Bytes>
//   void visit(Object& object, Bytes* bytes) {
//     uint32_t count = 0;
//     if constexpr (Bytes::kSaves) count = object.count;
//     bytes->field(count);
//     if (!bytes->require(count <= kCapacity)) return;
//     bytes->array(object.values, count, is_finite);
//     if constexpr (Bytes::kStores) object.count = count;
//   }
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace sotto {

// Writes values in order.
class ByteWriter {
 public:
  static constexpr bool kSaves = true;
  static constexpr bool kStores = false;

  // Writes to `bytes` or, if that is null, only computes the size.
  explicit ByteWriter(uint8_t* bytes) : bytes_(bytes) {}

  template <typename T>
  void field(const T& value) {
    put_array(&value, 1);
  }
  void flag(bool value) { field(uint32_t{value}); }
  template <typename T>
  void put_array(const T* values, size_t count) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    const size_t size = count * sizeof(T);
    if (bytes_ != nullptr && size > 0) std::memcpy(bytes_ + size_, values, size);
    size_ += size;
  }
  template <typename T, typename Predicate>
  void array(const T* values, size_t count, Predicate) {
    put_array(values, count);
  }
  bool require(bool) { return true; }
  size_t size() const { return size_; }

 private:
  uint8_t* bytes_;
  size_t size_ = 0;
};

// Reads values in order. After an attempt to read beyond the end, failed() is true, numbers are read as 0, and arrays
// stay as they are.
class ByteReader {
 public:
  static constexpr bool kSaves = false;
  static constexpr bool kStores = true;

  explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  template <typename T>
  void field(T& value) {
    value = {};
    get_array(&value, 1);
  }
  // A flag takes four bytes. Fails unless the number is 0 or 1.
  void flag(bool& value) {
    uint32_t number;
    field(number);
    value = require(number <= 1) && number == 1;
  }
  template <typename T>
  void get_array(T* values, size_t count) {
    if (count > rest() / sizeof(T)) failed_ = true;
    if (failed_ || count == 0) return;
    std::memcpy(values, bytes_.data() + at_, count * sizeof(T));
    at_ += count * sizeof(T);
  }
  // Reads an array of the object. A ByteChecker has tested each value with `is_valid`.
  template <typename T, typename Predicate>
  void array(T* values, size_t count, Predicate) {
    get_array(values, count);
  }
  // Fails unless `condition` is true. Returns whether nothing has failed so far.
  bool require(bool condition) {
    failed_ = failed_ || !condition;
    return !failed_;
  }
  bool failed() const { return failed_; }
  size_t rest() const { return bytes_.size() - at_; }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

// Reads values like a ByteReader, but only checks arrays: it fails unless `is_valid` is true for each value.
class ByteChecker : public ByteReader {
 public:
  static constexpr bool kStores = false;

  using ByteReader::ByteReader;

  template <typename T, typename Predicate>
  void array(const T*, size_t count, Predicate is_valid) {
    T chunk[256];
    while (count > 0 && !failed()) {
      const size_t size = std::min(count, std::size(chunk));
      get_array(chunk, size);
      if (!failed()) require(std::all_of(chunk, chunk + size, is_valid));
      count -= size;
    }
  }
};

}  // namespace sotto
