// Truncates stacks before masks are computed: removes everything that a single token cannot reach.
//
// A token can pop only the few rules on top of a stack, and it can change the count of a loop by no more than its
// number of bytes. The mask of a state set therefore nearly always equals the mask of a simpler set: all stacks are cut
// off below a small depth, and a representative replaces every count far from the loop's bounds. kUnknownNode stands
// for the part that was cut off. Ten thousand different depths of nesting then share a few masks, and `x{0,100000}`
// needs only one. If the computation pops kUnknownNode, it is repeated at twice the depth, so masks stay exact.
// Truncated sets are used only for masks, never for accepting a token.
#pragma once

#include <cstdint>

#include "runtime/base/arena.h"
#include "runtime/base/hash_index.h"
#include "runtime/grammar/matcher/stack_store.h"
#include "runtime/grammar/matcher/step.h"

namespace sotto {

class StackTruncation {
 public:
  // `index` as in StackStepper::layout().
  void layout(Arena& arena, const MatcherParams& limits, const HashIndex& index);
  // `longest` is the size of the longest token in bytes. Each repetition of a loop takes at least one byte.
  void init(const CompiledGrammar& grammar, StackStore& store, StepBudget& budget, uint32_t longest);

  // Returns whether truncation at this depth would change the set.
  bool applies(uint32_t set, uint32_t depth) const;
  // Computes the set whose stacks are cut off at `depth` and whose counts are replaced by representatives. With
  // StackNode::kMaxDepth, nothing is cut off, and only counts with the same completions are replaced.
  StepResult apply(uint32_t set, uint32_t depth, uint32_t* truncated);

 private:
  struct Key {
    uint32_t node;
    uint32_t depth;
  };
  struct Entry {
    Key key;
    uint32_t result;  // the truncated node, or kOpen while it is on the stack
  };

  static constexpr uint32_t kOpen = UINT32_MAX;

  StepResult make_set(uint32_t set, uint32_t depth, uint32_t* truncated);
  bool is_unchanged(uint32_t node, uint32_t depth) const;
  uint32_t result_of(uint32_t node, uint32_t depth) const;
  uint32_t find(Key key) const;
  StepResult resolve(Key root);
  bool push_parents(const Entry& entry);
  bool push(Key key);
  StepResult build(Entry& entry);
  uint64_t representative_count(const StackFrame& frame) const;

  const CompiledGrammar* grammar_ = nullptr;
  StackStore* store_ = nullptr;
  StepBudget* budget_ = nullptr;
  uint32_t longest_ = 0;
  bool keeps_completions_ = false;
  uint32_t capacity_ = 0;
  uint32_t entry_count_ = 0;
  uint32_t stack_size_ = 0;
  Entry* entries_ = nullptr;
  HashIndex index_;            // index of the entries
  uint32_t* stack_ = nullptr;  // indices of entries
  StackFrame* frames_ = nullptr;
  StackTop* states_ = nullptr;
};

}  // namespace sotto
