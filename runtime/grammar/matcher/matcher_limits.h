// The bounds of a matcher: capacities in memory, which is all reserved at init, and the steps that one call may take.
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

enum class StepResult : uint8_t {
  kDone,
  kStoreFull,   // a collection may help
  kTooComplex,  // the working memory or the budget is used up
};

// Elementary steps that may still be made. Each call of the matcher's interface starts with the whole budget, so that
// an ambiguous grammar fails with a status instead of taking forever.
class StepBudget {
 public:
  uint64_t left() const { return left_; }
  void set(uint64_t steps) { left_ = steps; }
  // Returns false, and takes nothing, if fewer steps are left.
  bool spend(uint64_t steps) {
    if (steps > left_) return false;
    left_ -= steps;
    return true;
  }

 private:
  uint64_t left_ = UINT64_MAX;
};

}  // namespace sotto
