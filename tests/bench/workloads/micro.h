// Measures the kernels by themselves, at a model's sizes, for every instruction set of this machine.
#pragma once

#include <cstdint>

#include "tests/bench/figures/plan.h"
#include "tests/bench/models/loaded_model.h"

namespace sotto::bench {

inline constexpr char kMicro[] = "micro";

// A process multiplies with one instruction set, so each is measured in a child of its own, once per round.
void add_micro(const LoadedModel& model, uint32_t thread_count, Plan* plan);

// Runs in the child. argv[1] is kMicro.
int micro_main(int argc, char** argv);

}  // namespace sotto::bench
