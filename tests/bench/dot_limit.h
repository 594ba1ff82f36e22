// How many int8 multiply-adds a second this machine can do: the limit of prefill.
#pragma once

#include <cstddef>
#include <cstdint>

#include "capi/include/sotto.h"

namespace sotto::bench {

// A loop over registers alone with the densest int8 multiply-adds of an instruction set.
struct DotLoop {
  void (*run)(size_t iterations);
  uint64_t macs_per_iteration;
};

// One file an architecture. `isa` must be one that runs here, and not AUTO.
DotLoop dot_loop(sotto_isa isa);

// Scalar, for SOTTO_ISA_REFERENCE and unknown architectures.
DotLoop scalar_dot_loop();

// Multiply-adds a second of `thread_count` threads together, over `least_seconds` or more.
double dot_macs_per_second(sotto_isa isa, size_t thread_count, double least_seconds);

}  // namespace sotto::bench
