// Memory of the caller for work whose size is not known in advance: a bump allocator, and arrays that grow inside it.
// When the memory is exhausted, allocations fail, arrays stop growing, and exhausted() becomes true, so callers need to
// check only once, at the end.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "runtime/base/arena.h"

namespace sotto {

inline constexpr uint32_t kNoIndex = UINT32_MAX;    // means that there is no index
inline constexpr uint32_t kUnbounded = UINT32_MAX;  // means that there is no maximum

class Workspace {
 public:
  Workspace(void* memory, size_t size)
      : base_(static_cast<uint8_t*>(memory)), capacity_(memory == nullptr ? 0 : size) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // Allocates `count` elements. Returns null once the memory is exhausted.
  template <typename T>
  T* take(size_t count) {
    static_assert(alignof(T) <= kAlignment);
    const size_t offset = align_up(size_, kAlignment);
    if (offset > capacity_ || count > (capacity_ - offset) / sizeof(T)) {
      exhausted_ = true;
      return nullptr;
    }
    size_ = offset + count * sizeof(T);
    return reinterpret_cast<T*>(base_ + offset);
  }

  // Enlarges the newest block in place and returns whether there was enough memory.
  bool extend(const void* block, size_t old_size, size_t new_size) {
    const auto offset = static_cast<size_t>(static_cast<const uint8_t*>(block) - base_);
    if (offset + old_size != size_ || new_size > capacity_ - offset) return false;
    size_ = offset + new_size;
    return true;
  }

  // Releases everything taken since size() returned `mark`.
  void release(size_t mark) {
    assert(mark <= size_);
    size_ = mark;
  }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool exhausted() const { return exhausted_; }

 private:
  static constexpr size_t kAlignment = 8;

  uint8_t* base_;
  size_t capacity_;
  size_t size_ = 0;
  bool exhausted_ = false;
};

// An array that grows in a workspace. Element 0 can always be read and written, even if nothing was stored. Code that
// continues after the workspace is exhausted therefore never accesses other memory.
template <typename T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit GrowingArray(Workspace& workspace) : workspace_(workspace) {}
  GrowingArray(const GrowingArray&) = delete;
  GrowingArray& operator=(const GrowingArray&) = delete;

  // Appends an element and returns its index, or 0 if the workspace is exhausted.
  uint32_t push(const T& value) {
    if (size_ == capacity_ && !grow(size_ + 1)) return 0;
    data_[size_] = value;
    return static_cast<uint32_t>(size_++);
  }

  // Appends elements whose bytes are all `fill`.
  bool resize(size_t size, int fill = 0) {
    if (size > capacity_ && !grow(size)) return false;
    if (size > size_) std::memset(static_cast<void*>(data_ + size_), fill, (size - size_) * sizeof(T));
    size_ = size;
    return true;
  }

  void pop() { size_ -= size_ > 0 ? 1 : 0; }
  void truncate(size_t size) { size_ = size; }
  T& operator[](size_t index) {
    assert(index < size_ || index == 0);
    return data_[index];
  }
  const T& operator[](size_t index) const {
    assert(index < size_ || index == 0);
    return data_[index];
  }
  T& back() { return data_[size_ > 0 ? size_ - 1 : 0]; }
  uint32_t size() const { return static_cast<uint32_t>(size_); }
  bool empty() const { return size_ == 0; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  std::span<const T> span() const { return {data_, size_}; }
  std::span<const T> span(size_t first, size_t count) const { return {data_ + first, count}; }

 private:
  bool grow(size_t needed) {
    size_t capacity = capacity_ < 8 ? 16 : capacity_ * 2;
    if (capacity < needed) capacity = needed;
    if (data_ != &spare_ && workspace_.extend(data_, capacity_ * sizeof(T), capacity * sizeof(T))) {
      capacity_ = capacity;
      return true;
    }
    T* data = workspace_.template take<T>(capacity);
    if (data == nullptr) return false;
    std::memcpy(static_cast<void*>(data), data_, size_ * sizeof(T));
    data_ = data;
    capacity_ = capacity;
    return true;
  }

  Workspace& workspace_;
  T spare_{};
  T* data_ = &spare_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace sotto
