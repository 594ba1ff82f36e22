// How many int8 multiply-adds a second this machine can do: the limit of prefill.
#pragma once

#include <cstddef>
#include <cstdint>

#include "capi/include/sotto.h"

namespace sotto::bench {

// A loop over registers alone with the densest int8 multiply-adds of an instruction set's vectors,
// or of its tiles.
struct DotLoop {
  void (*run)(size_t iterations);
  uint64_t macs_per_iteration;
};

// One file an architecture. `isa` must be one that runs here, and not AUTO.
DotLoop dot_loop(sotto_isa isa);

// `run` is null where `isa` has no tiles. The process must have been given them, as one with a
// model that multiplies with `isa` has.
DotLoop tile_loop(sotto_isa isa);

// Scalar, for SOTTO_ISA_REFERENCE and unknown architectures.
DotLoop scalar_dot_loop();

// Multiply-adds a second of `thread_count` threads together, over `least_seconds` or more.
double macs_per_second(const DotLoop& loop, size_t thread_count, double least_seconds);

}  // namespace sotto::bench
