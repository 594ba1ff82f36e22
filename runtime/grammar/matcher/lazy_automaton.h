// A deterministic automaton over state sets. A transition is computed when it is first needed and then remembered, as
// RE2's lazy DFA does (Cox, "Regular Expression Matching in the Wild", 2010). Its states are sets of grammar states on
// stacks, not of NFA states, so there may be infinitely many. The store keeps as many as fit. When it is full, a
// garbage collection makes space.
//
// A pin is a slot that contains the id of a set in use. A collection renumbers the sets and updates the pins, so
// functions take pointers to pins instead of ids. The first pin contains the start, the set before the first byte. The
// caller's pins follow. The last pins form the trail: pin n of the trail contains the set after n bytes of a token, so
// that a walk over the trie of the vocabulary can return to any prefix. A collection ignores the pins of the trail
// after the newest one.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/grammar/compiler/compiled_grammar.h"
#include "runtime/grammar/matcher/stack_stepper.h"
#include "runtime/grammar/matcher/stack_store.h"
#include "runtime/grammar/matcher/stack_truncation.h"
#include "runtime/grammar/matcher/step.h"

namespace sotto {

class LazyAutomaton {
 public:
  // Takes memory for `pin_count` pins of the caller, the start and the trail.
  void layout(Arena& arena, const CompiledGrammar& grammar, const MatcherParams& limits, uint32_t pin_count,
              uint32_t trail_count);
  // Computes the start. `completions` is null without finish_within.
  StepResult init(const CompiledGrammar& grammar, const MatcherParams& limits, uint32_t longest,
                  const Completions* completions);

  const CompiledGrammar& grammar() const { return *grammar_; }
  StackStore& store() { return store_; }
  const StackStore& store() const { return store_; }
  const Pin& start() const { return *start_; }
  Pin* pins() { return pins_; }  // those of the caller
  const Pin* pins() const { return pins_; }
  Pin* trail() { return trail_; }
  // Declares that the first `count` pins of the trail stay in use while other pins are written.
  void hold_trail(uint32_t count) { held_trail_ = count; }
  StepBudget& budget() { return budget_; }
  // Restores the full budget, for a new call of the interface.
  void renew_budget() { budget_.set(step_budget_); }
  // Returns the number of collections so far. As long as it does not change, ids of sets are valid outside of pins.
  uint64_t collection_count() const { return collection_count_; }
  // Returns the tokens of the shortest completion of a set, or 0 without finish_within. A dead set has none.
  uint32_t completion(uint32_t set) const { return set == kDeadSet ? kNoCompletion : store_.completion(set); }
  bool accepts(uint32_t set) const { return (store_.state_set(set).flags & StateSet::kAccepts) != 0; }
  // Returns whether a token that a literal allows is read only as this literal, and not as its bytes.
  bool prefers_literals(uint32_t set) const;

  // The functions below read and write pins. `to` must differ from `from`.
  StepResult step(const Pin* from, uint32_t symbol_class, Pin* to) {
    const uint32_t known = store_.next(from->set, symbol_class);
    if (known == kNotComputed) return make_step(from, symbol_class, to);
    to->set = known;
    return StepResult::kDone;
  }
  // Like step(), but also remembers the transitions by other classes that lead to the same set.
  StepResult step_with_equivalents(const Pin* from, uint32_t symbol_class, Pin* to) {
    const uint32_t known = store_.next(from->set, symbol_class);
    if (known == kNotComputed) return make_equivalent_steps(from, symbol_class, to);
    to->set = known;
    return StepResult::kDone;
  }
  // Steps by several bytes. Overwrites the trail.
  StepResult step_bytes(std::span<const char> bytes, Pin* set);
  // Computes the set after an end token, which accepts and has no successors.
  StepResult make_end(Pin* to);
  StepResult unite(const Pin* a, const Pin* b, Pin* to);
  StepResult truncate(const Pin* from, uint32_t depth, Pin* to);
  bool can_truncate(uint32_t set, uint32_t depth) const { return truncation_.applies(set, depth); }

 private:
  StepResult make_step(const Pin* from, uint32_t symbol_class, Pin* to);
  StepResult make_equivalent_steps(const Pin* from, uint32_t symbol_class, Pin* to);
  StepResult make_text_step(const Pin* from, std::span<const char> text, size_t* taken, Pin* to);
  StepResult make_loop_step(const Pin* from, std::span<const char> text, size_t* taken, Pin* to);
  uint32_t class_of(char byte) const { return grammar_->byte_class(static_cast<uint8_t>(byte)); }
  void collect(const Pin* newest, bool keep_shared);
  template <typename Make>
  StepResult make(Pin* to, Make make);

  const CompiledGrammar* grammar_ = nullptr;
  StepBudget budget_;
  StackStore store_;
  StackStepper stepper_;
  StackTruncation truncation_;
  uint64_t step_budget_ = 0;
  uint64_t collection_count_ = 0;
  uint32_t all_pin_count_ = 0;
  uint32_t held_trail_ = 0;
  Pin* start_ = nullptr;  // the first of all pins
  Pin* pins_ = nullptr;
  Pin* trail_ = nullptr;
  StackTop* united_ = nullptr;
  uint32_t united_capacity_ = 0;
};

}  // namespace sotto
