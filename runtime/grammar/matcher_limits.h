// How much a matcher may keep. All of it is reserved at init.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sotto {

struct MatcherLimits {
  uint32_t node_count = 4096;      // contexts
  uint32_t frame_count = 16384;    // in all contexts
  uint32_t config_count = 2048;    // sets of states and contexts
  uint32_t item_count = 8192;      // in all configurations
  uint32_t work_count = 4096;      // states visited in one step
  uint32_t mask_size = 256 << 10;  // bytes of remembered masks
  uint32_t rollback_count = 256;   // tokens that can be taken back
  uint32_t sequence_count = 1;
  uint64_t step_budget = 20'000'000;  // elementary steps of one call
};

}  // namespace sotto
