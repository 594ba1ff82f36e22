// Times every kernel of one instruction set.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "kernels/kernels.h"
#include "tests/bench/memory.h"

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

// A list of {"name", "ns"} a call, some with "limit_ns" and "limit_name".
nlohmann::json run_micro_cases(Isa isa, const MicroShape& shape);

// The linear layers' part of it.
void run_linear_cases(Isa isa, const MicroShape& shape, nlohmann::json* cases);

}  // namespace sotto::bench
