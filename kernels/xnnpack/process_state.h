// The process-wide state that XNNPACK requires: its allocator, which is set once and forwards to an arena of the
// calling thread, and the instruction set for which it was initialized.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace sotto::xnnpack {

// Initializes XNNPACK for `isa` in the first call. Later calls return whether `isa` is the same.
bool select_isa(Isa isa);

// While in scope, serves XNNPACK's allocations on this thread from `memory`, which is never reused. Without a
// ScopedArena they fail.
class ScopedArena {
 public:
  ScopedArena(void* memory, size_t size);
  ~ScopedArena();
  ScopedArena(const ScopedArena&) = delete;
  ScopedArena& operator=(const ScopedArena&) = delete;
};

}  // namespace sotto::xnnpack
