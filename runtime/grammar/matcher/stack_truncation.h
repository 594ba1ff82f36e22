// Contexts with everything left out that one token cannot notice: what lies deeper than a
// number of contexts, and how far a loop's count is from bounds it cannot reach. Masks are
// found, and remembered, for these.
#pragma once

#include <cstdint>

#include "runtime/base/arena.h"
#include "runtime/grammar/matcher/stack_stepper.h"
#include "runtime/grammar/matcher/stack_store.h"

namespace sotto {

class StackTruncation {
 public:
  // `slots`: as of StackStepper.
  void lay_out(Arena& arena, const MatcherLimits& limits, const SlotTable& slots);
  // `longest`: bytes of the longest token; a text of a loop has one byte at least.
  void init(const CompiledGrammar& grammar, StackStore& store, uint32_t longest);

  // Whether anything in the configuration could be left out.
  bool applies(uint32_t set, uint32_t depth) const;
  // `set` with its contexts cut off at `depth` and its counts abstracted.
  // Takes the frames visited from `*steps`.
  StepResult apply(uint32_t set, uint32_t depth, uint64_t* steps, uint32_t* abstract);

 private:
  struct Key {
    uint32_t node;
    uint32_t depth;
  };
  struct Entry {
    Key key;
    uint32_t result;  // kOpen: on the stack
    uint32_t slot;
  };

  static constexpr uint32_t kOpen = UINT32_MAX;

  StepResult make_set(uint32_t set, uint32_t depth, uint32_t* abstract);
  bool is_plain(uint32_t node, uint32_t depth) const;
  uint32_t known(uint32_t node, uint32_t depth) const;
  Entry* find(Key key, uint32_t* slot) const;
  StepResult resolve(Key root);
  bool push_parents(const Entry& entry);
  bool push(Key key);
  bool build(Entry& entry, StepResult* result);
  uint32_t abstract_count(const StackFrame& frame) const;

  const CompiledGrammar* grammar_ = nullptr;
  StackStore* store_ = nullptr;
  uint32_t longest_ = 0;
  uint64_t steps_ = 0;  // left
  uint32_t capacity_ = 0;
  uint32_t frame_capacity_ = 0;
  uint32_t entry_count_ = 0;
  uint32_t stack_size_ = 0;
  Entry* entries_ = nullptr;
  SlotTable slots_;            // entry + 1 by hash
  uint32_t* stack_ = nullptr;  // entries
  StackFrame* frames_ = nullptr;
  State* states_ = nullptr;
};

}  // namespace sotto
