// Measures the kernels by themselves, at a model's sizes, for every instruction set of this machine.
#pragma once

#include <cstdint>

#include "tests/bench/figures/plan.h"
#include "tests/bench/models/loaded_model.h"

namespace sotto::bench {

// Adds the measurement of each instruction set, once per round.
void add_micro(const LoadedModel& model, uint32_t thread_count, Plan* plan);

}  // namespace sotto::bench
