// Makes the memory sanitizer report uses of memory that the core has not written.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#  if __has_feature(memory_sanitizer)
#    include <sanitizer/msan_interface.h>
#    define SOTTO_MSAN 1
#  endif
#endif

namespace sotto {

// Marks memory as uninitialized. Without the memory sanitizer, this does nothing.
inline void mark_uninitialized([[maybe_unused]] void* data, [[maybe_unused]] size_t size) {
#ifdef SOTTO_MSAN
  __msan_allocated_memory(data, size);
#endif
}

}  // namespace sotto
