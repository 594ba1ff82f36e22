// One step of the matcher: from a set of states and a byte (or token) to the set of states after it.
//
// This is one step of a generalised LL recogniser (Scott and Johnstone, GLL Parsing, 2010) over rules that are
// deterministic automata: each state on top of a stack moves by the byte's class, and then everything is added that is
// reached without another byte. A state that calls a rule pushes a node for it and goes on in the rule's start state; a
// state in which its rule may end pops: every frame of its node goes on in its return state. Entries are pairs of
// state and node, worked off from a list and each processed once.
//
// Three cases keep this finite and small:
//  - All calls of one rule in a step share one pending node (pending_nodes.h), so left recursion ends.
//  - A call in the last position of its rule is a tail call: the callee returns to the caller's frames, so that right
//    recursion takes constant memory.
//  - A rule that is popped in the step that pushed it would have read nothing. The compiler has removed such readings
//    (it adds an edge around each call of a nullable rule), so they are skipped here; this is the epsilon problem of
//    Earley's algorithm, solved as by Aycock and Horspool (2002).
//
// A loop ({m,n} beyond a few repetitions) is a call whose frames count: when its rule ends, the frame returns if the
// count has reached the minimum, and calls the rule again if it is below the maximum.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/hash_index.h"
#include "runtime/grammar/compiler/compiled_grammar.h"
#include "runtime/grammar/matcher/matcher_limits.h"
#include "runtime/grammar/matcher/pending_nodes.h"
#include "runtime/grammar/matcher/stack_store.h"

namespace sotto {

class StackStepper {
 public:
  // `index` has slots for limits.work_count entries. It is empty whenever no step is in progress.
  void layout(Arena& arena, const CompiledGrammar& grammar, const MatcherParams& limits, const HashIndex& index);
  void init(const CompiledGrammar& grammar, StackStore& store, StepBudget& budget);

  // Makes the set before the first byte.
  StepResult start(uint32_t* set);
  // Makes the set after a byte or token of the class, or kDeadSet if there is none.
  StepResult step(uint32_t set, uint32_t symbol_class, uint32_t* next);
  // Makes the set after the first `taken` bytes of a text, at least one, without storing those in between.
  StepResult step_text(uint32_t set, std::span<const char> text, size_t* taken, uint32_t* next);
  // Does the same for as many bytes, possibly none, as are each one repetition of the same loop.
  StepResult step_loop(uint32_t set, std::span<const char> text, size_t* taken, uint32_t* next);

 private:
  // A state on top of a node, or a marker. (rule, kRuleMarker) records the pending node of a rule, and (kPoppedMarker,
  // node) records that a node has been popped.
  struct Entry {
    uint32_t state;
    uint32_t node;
    uint32_t pending;  // pending node, in the marker of a rule
  };

  static constexpr uint32_t kRuleMarker = UINT32_MAX;    // the node of a rule's marker
  static constexpr uint32_t kPoppedMarker = UINT32_MAX;  // the state of a popped node's marker
  static constexpr uint32_t kFewEntries = 8;             // up to this number, entries are searched one by one, without
                                                         // the index
  static constexpr uint32_t kFewStates = 16;             // number of states copied from one byte of a text to the next

  void begin();
  StepResult take_text(uint32_t set, std::span<const char> text, size_t* taken, uint32_t* next);
  void advance(std::span<const State> states, uint32_t symbol_class);
  bool take_moves(std::span<const State> states, uint32_t symbol_class);
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
  uint32_t pending_for(uint32_t rule_start);
  void fail(StepResult result) {
    if (result_ == StepResult::kDone) result_ = result;
  }

  // The following functions handle loops whose repetitions have one byte each.
  const State* find_repeat() const;
  bool is_repeat(const State& top) const;
  void repeat(std::span<const char> text, size_t* taken);
  const State* counting_state(std::span<const State> states) const;
  bool ends_only(std::span<const State> states, const State* top, uint32_t symbol_class);
  bool count_on(uint32_t loop, uint32_t* count) const;

  const CompiledGrammar* grammar_ = nullptr;
  StackStore* store_ = nullptr;
  StepBudget* budget_ = nullptr;
  StepResult result_ = StepResult::kDone;
  uint8_t flags_ = 0;
  bool is_unknown_ = false;  // whether a node was popped that truncation has cut off
  State ended_ = {};         // the state that moved, if it was the only one and ended its rule, else state 0
  uint32_t capacity_ = 0;
  uint32_t entry_count_ = 0;
  uint32_t state_count_ = 0;
  Entry* entries_ = nullptr;
  HashIndex index_;  // index of the entries once they are more than kFewEntries
  State* states_ = nullptr;
  State* kept_ = nullptr;
  PendingNodes pending_;
};

}  // namespace sotto
