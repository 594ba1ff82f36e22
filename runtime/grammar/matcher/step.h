// A step of the matcher: its result, and the number of steps that a call may take.
#pragma once

#include <cstdint>

namespace sotto {

// The result of a step of the matcher.
enum class StepResult : uint8_t {
  kDone,
  kStoreFull,   // the store is full, and a collection may help
  kTooComplex,  // the working memory or the step budget is exhausted
};

// Evaluates an expression, and returns its result from the calling function unless it is kDone.
#define SOTTO_TRY_STEP(expression)                                                                             \
  do {                                                                                                         \
    if (const ::sotto::StepResult sotto_try_step = (expression); sotto_try_step != ::sotto::StepResult::kDone) \
      return sotto_try_step;                                                                                   \
  } while (false)

// The number of elementary steps that are still allowed. Each call of the matcher's interface starts with the full
// budget. On a very ambiguous grammar, it then fails with a status instead of running without a bound.
class StepBudget {
 public:
  uint64_t remaining() const { return remaining_; }
  void set(uint64_t steps) { remaining_ = steps; }
  // Returns false, and spends nothing, if fewer steps are left.
  bool spend(uint64_t steps) {
    if (steps > remaining_) return false;
    remaining_ -= steps;
    return true;
  }

 private:
  uint64_t remaining_ = UINT64_MAX;
};

}  // namespace sotto
