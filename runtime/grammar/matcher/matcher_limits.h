// How much a matcher may keep. All of it is reserved at init.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/grammar/compiler/compiled_grammar.h"

namespace sotto {

// Zero: as much as the grammar seems to need (resolve_limits).
struct MatcherLimits {
  uint32_t node_count = 0;       // contexts
  uint32_t frame_count = 0;      // in all contexts
  uint32_t config_count = 0;     // sets of states and contexts, at most 65535
  uint32_t item_count = 0;       // in all configurations
  uint32_t work_count = 0;       // states visited in one step
  uint32_t mask_bytes = 0;       // bytes of remembered masks
  uint32_t rollback_count = 64;  // tokens that can be taken back
  uint32_t sequence_count = 1;
  uint64_t step_budget = 20'000'000;  // elementary steps of one call
};

// `given`, and for its zeros what makes the grammar fast, with a vocabulary of so many tokens,
// unless it is very ambiguous.
MatcherLimits resolve_limits(const MatcherLimits& given, const CompiledGrammar& grammar, uint32_t token_count);

}  // namespace sotto
