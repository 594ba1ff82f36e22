#include "runtime/grammar/matcher/lazy_automaton.h"

#include <algorithm>
#include <cassert>

namespace sotto {

void LazyAutomaton::layout(Arena& arena, const CompiledGrammar& grammar, const MatcherParams& limits,
                           uint32_t pin_count, uint32_t trail_count) {
  united_capacity_ = limits.visit_count;
  all_pin_count_ = 1 + pin_count + trail_count;
  PinArena pins(arena.take<Pin>(all_pin_count_));
  start_ = pins.take(1);
  pins_ = pins.take(pin_count);
  trail_ = pins.take(trail_count);
  store_.layout(arena, grammar, limits);
  // The stepper, the truncation, the collection and the union are never in use at the same time. They therefore share
  // the memory after this index, and the stepper and the truncation also share the index.
  HashIndex index;
  index.layout(arena, limits.visit_count);
  arena.overlay([&](Arena& part) { stepper_.layout(part, grammar, limits, index); },
                [&](Arena& part) { truncation_.layout(part, limits, index); },
                [&](Arena& part) { united_ = part.take<StackTop>(united_capacity_); },
                [&](Arena& part) { store_.layout_collection(part); });
}

StepResult LazyAutomaton::init(const CompiledGrammar& grammar, const MatcherParams& limits, uint32_t longest,
                               const Completions* completions) {
  grammar_ = &grammar;
  step_budget_ = limits.step_budget;
  std::fill_n(start_, all_pin_count_, Pin{kNotComputed});
  store_.init(completions);
  stepper_.init(grammar, store_, budget_);
  truncation_.init(grammar, store_, budget_, longest);
  renew_budget();
  return make(start_, [&](uint32_t* made) { return stepper_.start(made); });
}

bool LazyAutomaton::prefers_literals(uint32_t set) const {
  const auto states = store_.states(set);
  return std::any_of(states.begin(), states.end(), [&](const StackTop& top) {
    return (grammar_->flags(top.state) & GrammarState::kPrefersLiterals) != 0;
  });
}

void LazyAutomaton::collect(const Pin* newest, bool keep_shared) {
  ++collection_count_;
  const Pin* end = std::max<const Pin*>(trail_ + held_trail_, newest + 1);
  const std::span<Pin> pins{start_, static_cast<size_t>(end - start_)};
  using Keep = StackStore::Keep;
  if (keep_shared) store_.collect(pins, Keep::kShared);
  if (keep_shared && !store_.has_third_free()) store_.collect(pins, Keep::kUsed);
  if (!keep_shared || !store_.has_third_free()) store_.collect(pins, Keep::kNothing);
}

// Calls `make`. If the store is full, collects garbage and tries again, at most twice.
template <typename Make>
StepResult LazyAutomaton::make(Pin* to, Make make) {
  uint32_t made = kNotComputed;
  to->set = kNotComputed;
  StepResult result = make(&made);
  for (const bool keep_shared : {true, false}) {
    if (result != StepResult::kStoreFull) break;
    const StoreCounts& counts = store_.counts();
    const uint64_t stored = uint64_t{counts.sets} + counts.nodes + counts.frames;
    if (!budget_.spend(stored)) return StepResult::kTooComplex;
    collect(to, keep_shared);
    result = make(&made);
  }
  if (result == StepResult::kDone) to->set = made;
  return result;
}

StepResult LazyAutomaton::make_end(Pin* to) {
  return make(to, [&](uint32_t* made) {
    const bool fits = store_.intern_set({}, StateSet::kAccepts, made);
    return fits ? StepResult::kDone : StepResult::kStoreFull;
  });
}

StepResult LazyAutomaton::make_step(const Pin* from, uint32_t symbol_class, Pin* to) {
  assert(from != to);
  const StepResult result = make(to, [&](uint32_t* made) { return stepper_.step(from->set, symbol_class, made); });
  if (result == StepResult::kDone) {
    store_.set_next(from->set, symbol_class, to->set);
  }
  return result;
}

// Makes a step, and records it also for the other symbol classes that provably lead to the same set.
StepResult LazyAutomaton::make_equivalent_steps(const Pin* from, uint32_t symbol_class, Pin* to) {
  SOTTO_TRY_STEP(make_step(from, symbol_class, to));
  // For each other class, counts the states with the same moves by both classes. If this holds for all states that move
  // by this class, and no other state moves by the other class, both classes lead to the same set.
  constexpr uint32_t kMaxStates = 32;
  constexpr uint8_t kDiffers = UINT8_MAX;
  const auto states = store_.states(from->set);
  if (states.size() > kMaxStates) return StepResult::kDone;
  uint8_t agreeing[256] = {};
  uint32_t moving = 0;
  for (const StackTop& top : states) {
    const auto moves = grammar_->moves(top.state);
    if (!budget_.spend(moves.size())) return StepResult::kDone;
    const auto has_class = [&](const GrammarMove& m) { return m.symbol_class == symbol_class; };
    const auto move = std::find_if(moves.begin(), moves.end(), has_class);
    const bool is_moving = move != moves.end();
    if (is_moving && std::count_if(move, moves.end(), has_class) > 1) return StepResult::kDone;
    moving += is_moving ? 1 : 0;
    for (size_t i = 0; i < moves.size(); ++i) {
      const bool is_single = (i == 0 || moves[i - 1].symbol_class != moves[i].symbol_class) &&
                             (i + 1 == moves.size() || moves[i + 1].symbol_class != moves[i].symbol_class);
      if (moves[i].symbol_class >= grammar_->byte_class_count()) break;
      const bool agrees = is_moving && is_single && moves[i].target == move->target;
      uint8_t& count = agreeing[moves[i].symbol_class];
      count = agrees && count != kDiffers ? static_cast<uint8_t>(count + 1) : kDiffers;
    }
  }
  if (moving == 0) return StepResult::kDone;
  for (uint32_t c = 0; c < grammar_->byte_class_count(); ++c) {
    if (agreeing[c] != moving || store_.next(from->set, c) != kNotComputed) continue;
    store_.set_next(from->set, c, to->set);
  }
  return StepResult::kDone;
}

StepResult LazyAutomaton::make_text_step(const Pin* from, std::span<const char> text, size_t* taken, Pin* to) {
  const StepResult result = make(to, [&](uint32_t* made) { return stepper_.step_text(from->set, text, taken, made); });
  if (result == StepResult::kDone && *taken == 1) store_.set_next(from->set, class_of(text[0]), to->set);
  return result;
}

StepResult LazyAutomaton::make_loop_step(const Pin* from, std::span<const char> text, size_t* taken, Pin* to) {
  const StepResult result = make(to, [&](uint32_t* made) { return stepper_.step_loop(from->set, text, taken, made); });
  if (result != StepResult::kDone || *taken > 1) return result;
  if (*taken == 0) {
    *taken = 1;
    return make_step(from, class_of(text[0]), to);
  }
  store_.set_next(from->set, class_of(text[0]), to->set);
  return result;
}

// Continues a text from a new set without storing the sets in between: most of them would never be used again.
StepResult LazyAutomaton::step_bytes(std::span<const char> bytes, Pin* set) {
  Pin* from = trail();
  Pin* to = from + 1;
  *from = *set;
  bool is_new = false;
  while (!bytes.empty() && from->set >= kFirstSet) {
    size_t taken = 1;
    const uint32_t symbol_class = class_of(bytes[0]);
    const uint32_t known = store_.next(from->set, symbol_class);
    if (known != kNotComputed) {
      to->set = known;
      is_new = false;
    } else {
      SOTTO_TRY_STEP(store_.state_set(from->set).repeats_by_count ? make_loop_step(from, bytes, &taken, to)
                     : is_new                                     ? make_text_step(from, bytes, &taken, to)
                                                                  : make_step(from, symbol_class, to));
      is_new = to->set != from->set && to->set + 1 == store_.set_count();
    }
    *from = *to;
    bytes = bytes.subspan(taken);
  }
  *set = *from;
  return StepResult::kDone;
}

StepResult LazyAutomaton::unite(const Pin* a, const Pin* b, Pin* to) {
  return make(to, [&](uint32_t* made) {
    const auto x = store_.states(a->set);
    const auto y = store_.states(b->set);
    if (x.size() + y.size() > united_capacity_) return StepResult::kTooComplex;
    const StackTop* end = std::set_union(x.begin(), x.end(), y.begin(), y.end(), united_, stack_top_less);
    const auto count = static_cast<size_t>(end - united_);
    const auto flags = static_cast<uint8_t>(store_.state_set(a->set).flags | store_.state_set(b->set).flags);
    return store_.intern_set({united_, count}, flags, made) ? StepResult::kDone : StepResult::kStoreFull;
  });
}

StepResult LazyAutomaton::truncate(const Pin* from, uint32_t depth, Pin* to) {
  return make(to, [&](uint32_t* made) { return truncation_.apply(from->set, depth, made); });
}

}  // namespace sotto
