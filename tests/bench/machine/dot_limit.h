// Measures how many int8 multiply-adds per second this machine can do, which is the limit of prefill.
#pragma once

#include <cstddef>
#include <cstdint>

#include "capi/include/sotto.h"

namespace sotto::bench {

// A loop over registers only, with the densest int8 multiply-adds of an instruction set's vectors or tiles.
struct DotLoop {
  void (*run)(size_t iterations);
  uint64_t macs_per_iteration;
};

// Returns the loop of an instruction set that runs here, which must not be AUTO. There is one source file per
// architecture.
DotLoop dot_loop(sotto_isa isa);

// `run` is null if `isa` has no tiles. The process must have permission to use them, as one with a model that
// multiplies with `isa` has.
DotLoop tile_loop(sotto_isa isa);

// Returns scalar code, for SOTTO_ISA_REFERENCE and unknown architectures.
DotLoop scalar_dot_loop();

// Returns the multiply-adds per second of all `thread_count` threads together, over at least `least_seconds`.
double macs_per_second(const DotLoop& loop, size_t thread_count, double least_seconds);

}  // namespace sotto::bench
