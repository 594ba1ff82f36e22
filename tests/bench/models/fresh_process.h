// Measures time and memory of a new process that loads the model and answers a prompt.
#pragma once

#include <cstdint>

#include "tests/bench/figures/plan.h"
#include "tests/bench/models/loaded_model.h"

namespace sotto::bench {

inline constexpr char kFreshProcess[] = "fresh-process";

// Adds the time to the first token, the time until the model is ready, and the peak resident memory of new processes.
// These load the file as the program sotto does: mapped, with packed weights used in place and everything else on huge
// pages.
void add_fresh_process(const LoadedModel& model, uint32_t thread_count, Plan* plan);

// The main function of the child, whose argv[1] is kFreshProcess.
int fresh_process_main(int argc, char** argv);

}  // namespace sotto::bench
