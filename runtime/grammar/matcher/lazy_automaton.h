// Steps between configurations, remembered as they are made, over a store that is cleaned
// when it is full. Configurations in use are pinned: their numbers change in a cleaning.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/grammar/compiler/compiled_grammar.h"
#include "runtime/grammar/matcher/stack_stepper.h"
#include "runtime/grammar/matcher/stack_store.h"
#include "runtime/grammar/matcher/stack_truncation.h"

namespace sotto {

class LazyAutomaton {
 public:
  // The last `trail_count` of the pins are in use only up to the one being written.
  void lay_out(Arena& arena, const CompiledGrammar& grammar, const MatcherLimits& limits, uint32_t pin_count,
               uint32_t trail_count);
  StepResult init(const CompiledGrammar& grammar, const MatcherLimits& limits, uint32_t longest);

  const CompiledGrammar& grammar() const { return *grammar_; }
  StackStore& store() { return store_; }
  const StackStore& store() const { return store_; }
  uint32_t* pins() { return pins_; }
  const uint32_t* pins() const { return pins_; }
  uint32_t* trail() { return pins_ + pin_count_ - trail_count_; }
  uint32_t trail_count() const { return trail_count_; }
  // The first of the trail that stay in use while other pins are written.
  void hold_trail(uint32_t count) { held_trail_ = count; }
  // A new call of the interface has the whole budget.
  void renew_budget() { stepper_.set_budget(step_budget_); }
  uint64_t collection_count() const { return collection_count_; }
  uint64_t budget() const { return stepper_.budget(); }
  void set_budget(uint64_t budget) { stepper_.set_budget(budget); }
  bool spend(uint64_t steps) { return stepper_.spend(steps); }

  // All of these read and write pins.
  StepResult start(uint32_t* to);
  // Behind the end, where only the end can follow.
  StepResult end(uint32_t* to);
  StepResult step(const uint32_t* from, uint32_t symbol_class, uint32_t* to) {
    const uint32_t known = store_.next(*from, symbol_class);
    if (known == kNotComputed) return make_step(from, symbol_class, to);
    *to = known;
    return StepResult::kDone;
  }
  // The same, and steps by other classes that lead to the same states.
  StepResult step_alike(const uint32_t* from, uint32_t symbol_class, uint32_t* to) {
    const uint32_t known = store_.next(*from, symbol_class);
    if (known == kNotComputed) return make_steps(from, symbol_class, to);
    *to = known;
    return StepResult::kDone;
  }
  StepResult step_bytes(std::span<const char> bytes, uint32_t* set);
  StepResult unite(const uint32_t* a, const uint32_t* b, uint32_t* to);
  StepResult abstract(const uint32_t* from, uint32_t depth, uint32_t* to);
  bool can_abstract(uint32_t set, uint32_t depth) const { return truncation_.applies(set, depth); }

 private:
  StepResult make_step(const uint32_t* from, uint32_t symbol_class, uint32_t* to);
  StepResult make_steps(const uint32_t* from, uint32_t symbol_class, uint32_t* to);
  StepResult make_text_step(const uint32_t* from, std::span<const char> text, size_t* taken, uint32_t* to);
  StepResult make_loop_step(const uint32_t* from, std::span<const char> text, size_t* taken, uint32_t* to);
  uint32_t class_of(char byte) const { return grammar_->byte_class(static_cast<uint8_t>(byte)); }
  void collect(const uint32_t* newest, bool keep_shared);
  template <typename Make>
  StepResult make(uint32_t* to, Make make);

  const CompiledGrammar* grammar_ = nullptr;
  StackStore store_;
  StackStepper stepper_;
  StackTruncation truncation_;
  uint64_t step_budget_ = 0;
  uint64_t collection_count_ = 0;
  uint32_t pin_count_ = 0;
  uint32_t trail_count_ = 0;
  uint32_t held_trail_ = 0;
  uint32_t* pins_ = nullptr;
  State* united_ = nullptr;
  uint32_t united_capacity_ = 0;
};

}  // namespace sotto
