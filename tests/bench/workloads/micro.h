// Measures the kernels by themselves, at a model's sizes, for every instruction set of this machine.
#pragma once

#include <cstdint>

#include "tests/bench/figures/plan.h"
#include "tests/bench/models/loaded_model.h"

namespace sotto::bench {

inline constexpr char kMicro[] = "micro";

// Adds the measurement of each instruction set, once per round. Each runs in its own child, because a process can use
// only one layout of packed weights.
void add_micro(const LoadedModel& model, uint32_t thread_count, Plan* plan);

// The main function of the child, whose argv[1] is kMicro.
int micro_main(int argc, char** argv);

}  // namespace sotto::bench
