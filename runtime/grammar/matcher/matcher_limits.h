// The bounds of a matcher: capacities in memory, which is all reserved at init, and the steps that one call may take.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/generated/params.h"
#include "runtime/grammar/compiler/compiled_grammar.h"

namespace sotto {

// Returns `given` with zeros replaced by estimates that make the grammar fast, unless it is very ambiguous.
// `token_count` is the size of the vocabulary, or zero without one.
MatcherParams resolve_limits(const MatcherParams& given, const CompiledGrammar& grammar, uint32_t token_count);

enum class StepResult : uint8_t {
  kDone,
  kStoreFull,   // the store is full, and a collection may help
  kTooComplex,  // the working memory or the budget is exhausted
};

// The number of elementary steps that may still be made. Each call of the matcher's interface starts with the whole
// budget, so that an ambiguous grammar fails with a status instead of running without a bound.
class StepBudget {
 public:
  uint64_t left() const { return left_; }
  void set(uint64_t steps) { left_ = steps; }
  // Returns false, and uses nothing up, if fewer steps are left.
  bool spend(uint64_t steps) {
    if (steps > left_) return false;
    left_ -= steps;
    return true;
  }

 private:
  uint64_t left_ = UINT64_MAX;
};

}  // namespace sotto
