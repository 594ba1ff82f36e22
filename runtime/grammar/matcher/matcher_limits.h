// The capacities of a matcher. All memory is reserved at init.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/grammar/compiler/compiled_grammar.h"

namespace sotto {

// Zero stands for what the grammar is expected to need (resolve_limits).
struct MatcherLimits {
  uint32_t node_count = 0;       // stack nodes
  uint32_t frame_count = 0;      // stack frames of all nodes
  uint32_t config_count = 0;     // state sets, at most 65535
  uint32_t item_count = 0;       // states of all sets
  uint32_t work_count = 0;       // states visited in one step
  uint32_t mask_bytes = 0;       // remembered masks
  uint32_t rollback_count = 64;  // tokens that can be rolled back
  uint32_t sequence_count = 1;
  uint64_t step_budget = 20'000'000;  // elementary steps of one call
};

// Returns `given` with its zeros replaced by estimates that make the grammar fast, unless it is very ambiguous.
// `token_count`: the size of the vocabulary, or zero without one.
MatcherLimits resolve_limits(const MatcherLimits& given, const CompiledGrammar& grammar, uint32_t token_count);

}  // namespace sotto
