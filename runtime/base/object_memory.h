// Objects in one block of the caller's memory. The first T::kObjectBytes bytes of the block contain the object, and the
// arrays that T::layout(Arena&, ...) takes follow it. kObjectBytes is the same on every platform, because memory sizes
// are part of the API.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "runtime/base/arena.h"
#include "runtime/base/range_check.h"
#include "runtime/base/status.h"

namespace sotto {

// Computes the size of the block of a T with these arguments of layout(). On failure `*size` is unchanged.
template <typename T, typename... Args>
Status measure_object(size_t* size, Error* error, const Args&... args) {
  static_assert(sizeof(T) <= T::kObjectBytes);
  Arena measure;
  measure.take<uint8_t>(T::kObjectBytes);
  T().layout(measure, args...);
  if (measure.overflowed()) {
    return fail(error, Status::kInvalidArgument, "params: the object needs more memory than can be addressed");
  }
  *size = measure.size();
  return Status::kOk;
}

// Constructs a T in the block and lays out its arrays. On failure nothing is written.
template <typename T, typename... Args>
Status create_object(void* memory, size_t memory_size, T** object, Error* error, const Args&... args) {
  size_t needed = 0;
  SOTTO_TRY(measure_object<T>(&needed, error, args...));
  SOTTO_TRY(check_memory(memory, memory_size, needed, error));
  Arena arena(memory);
  *object = new (arena.take<uint8_t>(T::kObjectBytes)) T;
  (*object)->layout(arena, args...);
  return Status::kOk;
}

}  // namespace sotto
