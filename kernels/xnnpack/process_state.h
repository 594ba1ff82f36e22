// The process-wide state that XNNPACK requires: its allocator, set once, which forwards to an arena of the calling
// thread, and the instruction set that it was initialised for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace sotto::xnnpack {

// Initialises XNNPACK for `isa` on the first call. Later calls return whether `isa` is the same.
bool select_isa(Isa isa);

// During its lifetime XNNPACK's allocations on this thread come from `memory`, which is never reused. Without a
// ScopedArena they fail.
class ScopedArena {
 public:
  ScopedArena(void* memory, size_t size);
  ~ScopedArena();
  ScopedArena(const ScopedArena&) = delete;
  ScopedArena& operator=(const ScopedArena&) = delete;
};

}  // namespace sotto::xnnpack
