// One step of the matcher: computes the set of states after a byte or token from the set before it.
//
// The algorithm is a step of a generalized LL recognizer (Scott and Johnstone, GLL Parsing, 2010) with automata as
// rules. First, each state on top of a stack moves by the class of the byte. Then the step adds every state that can be
// reached without another byte. A state that calls a rule pushes a node for the rule and continues in the rule's start
// state. A state that may end its rule pops its node, and every frame of the node continues in its return state. The
// pairs of a state and a node form a worklist. Each pair is processed once.
//
// Three measures keep this finite and small:
// - All calls of one rule in a step share one pending node (pending_nodes.h), so left recursion ends.
// - A call in the last position of its rule is a tail call: the callee returns to the caller's frames, so right
//   recursion takes constant memory.
// - A rule that is popped in the same step that pushed it would have read nothing. Such pops are skipped, because the
//   compiler adds an edge around each call of a rule that can be empty. This is the solution of Aycock and Horspool
//   (2002) to the epsilon problem of Earley's algorithm.
//
// A loop ({m,n} with more than a few repetitions) is a call whose frames contain a count. When its rule ends, the frame
// returns if the count has reached the minimum, and calls the rule again if the count is less than the maximum.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/hash_index.h"
#include "runtime/grammar/compiler/compiled_grammar.h"
#include "runtime/grammar/matcher/pending_nodes.h"
#include "runtime/grammar/matcher/stack_store.h"
#include "runtime/grammar/matcher/step.h"

namespace sotto {

class StackStepper {
 public:
  // `index` must have slots for limits.visit_count entries and is empty whenever no step is in progress.
  void layout(Arena& arena, const CompiledGrammar& grammar, const MatcherParams& limits, const HashIndex& index);
  void init(const CompiledGrammar& grammar, StackStore& store, StepBudget& budget);

  // Computes the set before the first byte.
  StepResult start(uint32_t* set);
  // Computes the set after a byte or token of the class, kDeadSet if the grammar does not allow one.
  StepResult step(uint32_t set, uint32_t symbol_class, uint32_t* next);
  // Computes the set after the first `*taken` >= 1 bytes of a text, without storing the sets in between.
  StepResult step_text(uint32_t set, std::span<const char> text, size_t* taken, uint32_t* next);
  // Like step_text(), for the longest prefix that repeats one loop, a byte per repetition. `*taken` may be 0.
  StepResult step_loop(uint32_t set, std::span<const char> text, size_t* taken, uint32_t* next);

 private:
  // A state on top of a node, or a marker: (rule, kRuleMarker) refers to the pending node of a rule, and
  // (kPoppedMarker, node) records that a node has been popped.
  struct Entry {
    uint32_t state;
    uint32_t node;
    uint32_t pending;  // in the marker of a rule, its pending node
  };

  static constexpr uint32_t kRuleMarker = UINT32_MAX;    // takes the place of the node in the marker of a rule
  static constexpr uint32_t kPoppedMarker = UINT32_MAX;  // takes the place of the state in the marker of a popped node
  static constexpr uint32_t kFewEntries = 8;             // up to this number, entries are searched without the index
  static constexpr uint32_t kFewStates = 16;             // number of states copied from one byte to the next

  void begin();
  StepResult take_text(uint32_t set, std::span<const char> text, size_t* taken, uint32_t* next);
  void advance(std::span<const StackTop> states, uint32_t symbol_class);
  bool take_moves(std::span<const StackTop> states, uint32_t symbol_class);
  void reach();
  StepResult store(uint32_t* set);
  StepResult store_set(uint32_t* set);
  Entry* find_or_add(uint32_t state, uint32_t node, bool* is_new);
  void index_entries();
  void add(uint32_t state, uint32_t node);
  void process(const Entry& entry);
  void call(const GrammarCall& call, uint32_t node);
  void add_popped(uint32_t node);
  void pop(uint32_t node);
  void return_to(const StackFrame& frame);
  void return_to_set(const StackFrame& frame);
  uint32_t pending_for(uint32_t rule_start);
  void fail(StepResult result) {
    if (result_ == StepResult::kDone) result_ = result;
  }

  // The functions below handle loops whose repetitions consist of one byte each.
  const StackTop* find_repeat() const;
  bool is_repeat(const StackTop& top) const;
  void repeat(std::span<const char> text, size_t* taken);
  const StackTop* counting_state(std::span<const StackTop> states) const;
  bool ends_only(std::span<const StackTop> states, const StackTop* top, uint32_t symbol_class);
  bool count_on(uint32_t loop, uint64_t* count) const;

  const CompiledGrammar* grammar_ = nullptr;
  StackStore* store_ = nullptr;
  StepBudget* budget_ = nullptr;
  StepResult result_ = StepResult::kDone;
  uint8_t flags_ = 0;
  bool is_unknown_ = false;  // true if a node was popped that stands for the rest of a truncated stack
  StackTop ended_ = {};      // the state that moved, if it was the only one and its rule ended; otherwise state 0
  uint32_t capacity_ = 0;
  uint32_t entry_count_ = 0;
  uint32_t state_count_ = 0;
  Entry* entries_ = nullptr;
  HashIndex index_;  // index of the entries, used when there are more than kFewEntries
  StackTop* states_ = nullptr;
  StackTop* kept_ = nullptr;
  PendingNodes pending_;
};

}  // namespace sotto
