// Measures the int8 multiply-adds per second of this machine: the limit of prefill.
#pragma once

#include <cstddef>
#include <cstdint>

#include "capi/include/sotto.h"

namespace sotto::bench {

// A loop on registers alone, with the int8 multiply-add instructions of an instruction set that have the highest
// throughput.
struct DotLoop {
  void (*run)(size_t iterations);
  uint64_t macs_per_iteration;
};

// Returns the loop of an instruction set that this machine supports; not of AUTO. Each architecture has a source file
// that defines it.
DotLoop dot_loop(sotto_isa isa);

// Returns the loop over tiles; its `run` is null if `isa` has no tiles. The process needs permission to use tiles; it
// has the permission after it has opened a model with `isa`.
DotLoop tile_loop(sotto_isa isa);

// Returns the loop in scalar code, for SOTTO_ISA_REFERENCE and architectures without kernels.
DotLoop scalar_dot_loop();

// Returns the multiply-adds per second of all `thread_count` threads together, over at least `least_seconds`.
double macs_per_second(const DotLoop& loop, size_t thread_count, double least_seconds);

}  // namespace sotto::bench
