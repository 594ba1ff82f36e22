// Truncation of stacks for the computation of a mask: it drops everything that one token cannot reach.
//
// A token can pop only the few rules on top of a stack, and can change a loop's count only by its number of bytes. So
// the mask of a state set nearly always equals that of the set with its stacks cut off below a small depth, where
// kUnknownNode replaces the rest, and with every count that is far from its loop's bounds replaced by one
// representative. Ten thousand different depths of nesting then share a few masks, and `x{0,100000}` needs one. If the
// computation pops into kUnknownNode, it repeats at twice the depth, so masks stay exact. Only masks use truncated
// sets. Accepting a token never does.
#pragma once

#include <cstdint>

#include "runtime/base/arena.h"
#include "runtime/base/hash_index.h"
#include "runtime/grammar/matcher/matcher_limits.h"
#include "runtime/grammar/matcher/stack_store.h"

namespace sotto {

class StackTruncation {
 public:
  // `index` follows the rules of StackStepper::layout().
  void layout(Arena& arena, const MatcherParams& limits, const HashIndex& index);
  // `longest` is the size of the longest token in bytes. A repetition of a loop takes at least one byte.
  void init(const CompiledGrammar& grammar, StackStore& store, StepBudget& budget, uint32_t longest);

  // Returns whether the set at this depth differs from the set itself.
  bool applies(uint32_t set, uint32_t depth) const;
  // Makes the set with its stacks cut off at `depth` and its counts replaced by representatives.
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
  uint32_t representative_count(const StackFrame& frame) const;

  const CompiledGrammar* grammar_ = nullptr;
  StackStore* store_ = nullptr;
  StepBudget* budget_ = nullptr;
  uint32_t longest_ = 0;
  uint32_t capacity_ = 0;
  uint32_t entry_count_ = 0;
  uint32_t stack_size_ = 0;
  Entry* entries_ = nullptr;
  HashIndex index_;            // index of the entries
  uint32_t* stack_ = nullptr;  // numbers of entries
  StackFrame* frames_ = nullptr;
  State* states_ = nullptr;
};

}  // namespace sotto
