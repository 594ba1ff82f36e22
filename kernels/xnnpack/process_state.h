// Everything process-wide that XNNPACK forces on us: its allocator, set once and
// forwarded to an arena of the calling thread, and the instruction set it settled on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace sotto::xnnpack {

// Initialises XNNPACK for `isa` on the first call. Later calls: whether it is the same.
bool select_isa(Isa isa);

// While one lives, what XNNPACK allocates on this thread comes from `memory`; nothing is
// ever given back. Without one XNNPACK gets no memory.
class ScopedArena {
 public:
  ScopedArena(void* memory, size_t size);
  ~ScopedArena();
  ScopedArena(const ScopedArena&) = delete;
  ScopedArena& operator=(const ScopedArena&) = delete;
};

}  // namespace sotto::xnnpack
