// Times every kernel of one instruction set.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "kernels/kernels.h"
#include "tests/bench/machine/memory.h"

namespace sotto::bench {

struct MicroShape {
  uint32_t embedding_size;
  uint32_t head_count;
  uint32_t feed_forward_size;
  uint32_t vocabulary_size;
  uint32_t layer_count;
  uint32_t position_count;
  uint32_t thread_count;
  Pages pages;
};

// Returns a list of {"name", "ns"}, where ns are nanoseconds per call. Some cases also have "limit_ns" and
// "limit_name".
nlohmann::json run_micro_cases(Isa isa, const MicroShape& shape);

// Appends the cases of the linear layers.
void run_linear_cases(Isa isa, const MicroShape& shape, nlohmann::json* cases);

}  // namespace sotto::bench
