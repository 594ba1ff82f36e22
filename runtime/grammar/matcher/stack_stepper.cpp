#include "runtime/grammar/matcher/stack_stepper.h"

#include <algorithm>

namespace sotto {

void StackStepper::lay_out(Arena& arena, const CompiledGrammar& grammar, const MatcherLimits& limits,
                           const SlotTable& slots) {
  work_capacity_ = limits.work_count;
  link_capacity_ = limits.work_count;
  frame_capacity_ = limits.frame_count;
  slots_ = slots;
  entries_ = arena.take<Entry>(work_capacity_);
  states_ = arena.take<State>(work_capacity_);
  kept_ = arena.take<State>(kFewStates);
  // Each made by one byte is of another rule and has two entries: its marker and its first state.
  constexpr uint32_t kMostOfTexts = 16;
  pending_capacity_ = std::min(work_capacity_ / 2 + 1, std::max(grammar.rule_count(), kMostOfTexts));
  pending_ = arena.take<Pending>(pending_capacity_);
  const bool has_loops = grammar.counts().loops > 0;
  links_ = arena.take<Link>(link_capacity_);
  link_counts_ = arena.take<LinkCount>(has_loops ? link_capacity_ : 0);
  groups_ = arena.take<Group>(pending_capacity_);
  frames_.lay_out(arena, frame_capacity_, has_loops);
  members_ = arena.take<uint32_t>(pending_capacity_);
  ends_ = arena.take<uint32_t>(pending_capacity_);
  components_.lay_out(arena, pending_capacity_, frame_capacity_);
}

void StackStepper::init(const CompiledGrammar& grammar, StackStore& store) {
  grammar_ = &grammar;
  store_ = &store;
  slots_.clear();
}

void StackStepper::begin() {
  result_ = StepResult::kDone;
  pending_count_ = link_count_ = 0;
  begin_step();
}

void StackStepper::begin_step() {
  flags_ = 0;
  is_unknown_ = false;
  ended_ = {};
  entry_count_ = state_count_ = 0;
  first_new_ = pending_count_;
}

StepResult StackStepper::start(uint32_t* set) {
  begin();
  if ((grammar_->flags(grammar_->root_start()) & GrammarState::kFinal) != 0) {
    flags_ = StateSet::kAccepts;
  }
  call({grammar_->root_start(), kNoLoop, kAcceptState}, kRootNode);
  reach();
  return store(set);
}

StepResult StackStepper::step(uint32_t set, uint32_t symbol_class, uint32_t* next) {
  begin();
  advance(store_->states(set), symbol_class);
  return store(next);
}

StepResult StackStepper::step_text(uint32_t set, std::span<const char> text, size_t* taken, uint32_t* next) {
  const StepResult result = take_text(set, text, taken, next);
  if (result != StepResult::kTooComplex || *taken == 1) return result;
  *taken = 1;
  return step(set, grammar_->byte_class(static_cast<uint8_t>(text[0])), next);
}

StepResult StackStepper::take_text(uint32_t set, std::span<const char> text, size_t* taken, uint32_t* next) {
  begin();
  std::span<const State> states = store_->states(set);
  for (*taken = 0; *taken < text.size(); states = {kept_, state_count_}) {
    advance(states, grammar_->byte_class(static_cast<uint8_t>(text[(*taken)++])));
    if (result_ != StepResult::kDone || is_unknown_) break;
    const bool has_room = 2 * pending_count_ <= pending_capacity_ && 2 * link_count_ <= link_capacity_;
    if (state_count_ == 0 || state_count_ > kFewStates || !has_room) break;
    if (*taken < text.size() && is_repeat()) repeat(text, taken);
    std::copy_n(states_, state_count_, kept_);
  }
  return store(next);
}

void StackStepper::advance(std::span<const State> states, uint32_t symbol_class) {
  begin_step();
  const bool is_plain = take_moves(states, symbol_class);
  if (!is_plain) reach();
}

// Most moves lead to where a rule neither ends nor calls another: if all do, nothing else is
// reached.
bool StackStepper::take_moves(std::span<const State> states, uint32_t symbol_class) {
  bool is_plain = true;
  bool is_first = true;
  for (const State& top : states) {
    const auto moves = grammar_->moves(top.state, symbol_class);
    if (!spend(1 + moves.size())) fail(StepResult::kTooComplex);
    if (moves.empty()) continue;
    const bool ends = moves.size() == 1 && (grammar_->flags(moves[0].target) & GrammarState::kLast) != 0;
    ended_ = is_first && ends ? top : State{};
    is_first = false;
    for (const GrammarMove& move : moves) {
      const bool ends_or_calls = move.target <= kUnknownState ||
                                 (grammar_->flags(move.target) & GrammarState::kFinal) != 0 ||
                                 !grammar_->calls(move.target).empty();
      if (is_plain && (ends_or_calls || state_count_ == work_capacity_)) {
        is_plain = false;
        for (uint32_t i = 0; i < state_count_; ++i) add(states_[i].state, states_[i].node);
        state_count_ = 0;
      }
      if (is_plain) {
        states_[state_count_++] = {move.target, top.node};
      } else {
        add(move.target, top.node);
      }
    }
    if (result_ != StepResult::kDone) break;
  }
  return is_plain;
}

// Everything from the entries.
void StackStepper::reach() {
  // Entries are added behind those being processed.
  for (uint32_t i = 0; i < entry_count_ && result_ == StepResult::kDone && !is_unknown_; ++i) {
    const Entry entry = entries_[i];
    if (entry.node != kPendingMarker) process(entry);
  }
  if (!spend(1 + entry_count_ + link_count_)) fail(StepResult::kTooComplex);
  if (entry_count_ <= kFewEntries) return;
  for (uint32_t i = 0; i < entry_count_; ++i) slots_.set(entries_[i].slot, 0);
}

StepResult StackStepper::store(uint32_t* set) {
  if (is_unknown_) {
    *set = kUnknownSet;
    return result_;
  }
  const bool counts_on = result_ == StepResult::kDone && is_repeat();
  if (result_ == StepResult::kDone && pending_count_ > 0) fail(store_contexts());
  if (result_ == StepResult::kDone) fail(store_set(set));
  if (counts_on && result_ == StepResult::kDone) store_->state_set(*set).counts_on = true;
  return result_;
}

StackStepper::Entry* StackStepper::find_or_add(uint32_t state, uint32_t node, bool* is_new) {
  *is_new = false;
  if (entry_count_ <= kFewEntries) {
    for (uint32_t i = 0; i < entry_count_; ++i) {
      if (entries_[i].state == state && entries_[i].node == node) return &entries_[i];
    }
  } else {
    uint32_t slot = slot_of(state, node);
    for (; slots_[slot] != 0; slot = slots_.next(slot)) {
      Entry& known = entries_[slots_[slot] - 1];
      if (known.state == state && known.node == node) return &known;
    }
  }
  if (entry_count_ == work_capacity_) {
    fail(StepResult::kTooComplex);
    return nullptr;
  }
  *is_new = true;
  Entry* entry = &entries_[entry_count_++];
  *entry = {state, node, 0, 0};
  if (entry_count_ > kFewEntries) fill_slots();
  return entry;
}

uint32_t StackStepper::slot_of(uint32_t state, uint32_t node) const {
  const uint64_t key = (uint64_t{state} << 32 | node) * 0x9E3779B97F4A7C15u;
  return slots_.first(static_cast<uint32_t>(key >> 33));
}

// Of the newest entry, and of all when they are not few any more.
void StackStepper::fill_slots() {
  uint32_t i = entry_count_ == kFewEntries + 1 ? 0 : entry_count_ - 1;
  for (; i < entry_count_; ++i) {
    Entry& entry = entries_[i];
    entry.slot = slot_of(entry.state, entry.node);
    while (slots_[entry.slot] != 0) entry.slot = slots_.next(entry.slot);
    slots_.set(entry.slot, i + 1);
  }
}

void StackStepper::add(uint32_t state, uint32_t node) {
  if (state == kAcceptState) {
    flags_ |= StateSet::kAccepts;
  } else if (state == kUnknownState) {
    is_unknown_ = true;
  } else {
    bool is_new = false;
    find_or_add(state, node, &is_new);
  }
}

void StackStepper::process(const Entry& entry) {
  if (entry.state == kLeftMarker) return leave(entry.node);
  const bool is_final = (grammar_->flags(entry.state) & GrammarState::kFinal) != 0;
  // A rule called in this step has taken nothing: the grammar has an edge beside its call.
  if (is_final && !is_new(entry.node)) add_left(entry.node);
  for (const GrammarCall& c : grammar_->calls(entry.state)) call(c, entry.node);
  if (!grammar_->moves(entry.state).empty()) states_[state_count_++] = {entry.state, entry.node};
}

void StackStepper::call(const GrammarCall& c, uint32_t node) {
  const uint32_t pending = pending_for(c.rule_start);
  const bool is_last = (grammar_->flags(c.target) & GrammarState::kLast) != 0;
  if (c.loop != kNoLoop) {
    link(pending, {c.target, node, c.loop, 0});
  } else if (is_last && c.target != kAcceptState) {
    link(pending, {kTailState, node});
  } else {
    link(pending, {c.target, node});
  }
}

void StackStepper::add_left(uint32_t node) {
  bool is_new = false;
  find_or_add(kLeftMarker, node, &is_new);
}

void StackStepper::leave(uint32_t node) {
  if ((node & kPending) != 0) return leave_pending(pending_[node - kPending]);
  const auto frames = store_->frames(node);
  if (!spend(frames.size())) return fail(StepResult::kTooComplex);
  for (const StackFrame frame : frames) return_to(frame);
}

void StackStepper::leave_pending(const Pending& pending) {
  for (uint32_t l = pending.first_link; l != kEmpty; l = links_[l].next) {
    if (!spend(1)) return fail(StepResult::kTooComplex);
    if (links_[l].is_tail()) {
      add_left(links_[l].frame.parent);
    } else {
      return_to(frame_of(l));
    }
  }
}

// A rule's text is complete; in a loop another may follow.
void StackStepper::return_to(const StackFrame& frame) {
  if (frame.loop == kNoLoop) return add(frame.state, frame.parent);
  const GrammarLoop& loop = grammar_->loop(frame.loop);
  const uint32_t count = frame.count + 1;
  if (count >= loop.minimum) add(frame.state, frame.parent);
  if (count >= loop.maximum) return;
  const bool is_unbounded = loop.maximum == UINT32_MAX;
  const uint32_t kept = is_unbounded ? std::min(count, loop.minimum) : count;
  link(pending_for(loop.rule_start), {frame.state, frame.parent, frame.loop, kept});
}

uint32_t StackStepper::pending_for(uint32_t rule_start) {
  bool is_new = false;
  Entry* marker = find_or_add(rule_start, kPendingMarker, &is_new);
  if (marker == nullptr) return 0;
  if (!is_new) return marker->pending;
  if (pending_count_ == pending_capacity_) {
    fail(StepResult::kTooComplex);
    return 0;
  }
  const uint32_t pending = pending_count_++;
  marker->pending = pending;
  pending_[pending] = {rule_start, kEmpty, 0};
  add(rule_start, kPending | pending);
  return pending;
}

void StackStepper::link(uint32_t pending, const StackFrame& frame) {
  if (link_count_ == link_capacity_ || pending_count_ == 0) return fail(StepResult::kTooComplex);
  links_[link_count_] = {{frame.state, frame.parent}, pending_[pending].first_link};
  if (grammar_->counts().loops > 0) link_counts_[link_count_] = {frame.loop, frame.count};
  pending_[pending].first_link = link_count_++;
}

StepResult StackStepper::store_set(uint32_t* set) {
  for (uint32_t i = 0; i < state_count_; ++i) {
    uint32_t& node = states_[i].node;
    if ((node & kPending) != 0) node = groups_[pending_[node - kPending].group].node;
  }
  std::sort(states_, states_ + state_count_, state_less);
  const auto count = static_cast<size_t>(std::unique(states_, states_ + state_count_) - states_);
  const bool fits = store_->intern_set({states_, count}, flags_, set);
  return fits ? StepResult::kDone : StepResult::kStoreFull;
}

}  // namespace sotto
