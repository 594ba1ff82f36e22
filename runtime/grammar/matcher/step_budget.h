// The outcome of a step of the matcher, and the budget that bounds its work.
#pragma once

#include <cstdint>

namespace sotto {

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
