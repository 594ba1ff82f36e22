#include "runtime/grammar/matcher/stack_stepper.h"

#include <algorithm>

namespace sotto {
namespace {

uint32_t hash_entry(uint32_t state, uint32_t node) {
  return static_cast<uint32_t>(mix_hash(0, uint64_t{state} << 32 | node));
}

}  // namespace

void StackStepper::layout(Arena& arena, const CompiledGrammar& grammar, const MatcherParams& limits,
                          const HashIndex& index) {
  capacity_ = limits.visit_count;
  index_ = index;
  entries_ = arena.take<Entry>(capacity_);
  states_ = arena.take<StackTop>(capacity_);
  kept_ = arena.take<StackTop>(kFewStates);
  pending_.layout(arena, grammar, limits);
}

void StackStepper::init(const CompiledGrammar& grammar, StackStore& store, StepBudget& budget) {
  grammar_ = &grammar;
  store_ = &store;
  budget_ = &budget;
  pending_.init(grammar, store, budget);
  index_.clear();
}

void StackStepper::begin() {
  result_ = StepResult::kDone;
  flags_ = 0;
  is_unknown_ = false;
  ended_ = {};
  entry_count_ = state_count_ = 0;
  pending_.clear();
}

StepResult StackStepper::start(uint32_t* set) {
  begin();
  if ((grammar_->flags(grammar_->root_start()) & GrammarState::kFinal) != 0) flags_ = StateSet::kAccepts;
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
  // A single byte needs less memory than the text.
  *taken = 1;
  return step(set, grammar_->byte_class(static_cast<uint8_t>(text[0])), next);
}

StepResult StackStepper::take_text(uint32_t set, std::span<const char> text, size_t* taken, uint32_t* next) {
  begin();
  std::span<const StackTop> states = store_->states(set);
  // Sets between the bytes are not stored. Stop when the set is empty or large, or memory becomes scarce.
  for (*taken = 0; *taken < text.size(); states = {kept_, state_count_}) {
    advance(states, grammar_->byte_class(static_cast<uint8_t>(text[(*taken)++])));
    if (result_ != StepResult::kDone || is_unknown_) break;
    if (state_count_ == 0 || state_count_ > kFewStates || !pending_.is_half_free()) break;
    if (*taken < text.size()) repeat(text, taken);
    std::copy_n(states_, state_count_, kept_);
  }
  return store(next);
}

void StackStepper::advance(std::span<const StackTop> states, uint32_t symbol_class) {
  flags_ = 0;
  is_unknown_ = false;
  ended_ = {};
  entry_count_ = state_count_ = 0;
  pending_.begin_byte();
  const bool is_complete = take_moves(states, symbol_class);
  if (!is_complete) reach();
}

// Follows the moves of all states. Usually no target ends its rule or calls another one; then returns true, and states_
// contains the targets. Otherwise returns false, and the entries contain the targets.
bool StackStepper::take_moves(std::span<const StackTop> states, uint32_t symbol_class) {
  bool is_plain = true;
  bool is_first = true;
  for (const StackTop& top : states) {
    const auto moves = grammar_->moves(top.state, symbol_class);
    if (!budget_->spend(1 + moves.size())) fail(StepResult::kTooComplex);
    if (moves.empty()) continue;
    const bool ends = moves.size() == 1 && (grammar_->flags(moves[0].target) & GrammarState::kLast) != 0;
    ended_ = is_first && ends ? top : StackTop{};
    is_first = false;
    for (const GrammarMove& move : moves) {
      const bool ends_or_calls = move.target <= kUnknownState ||
                                 (grammar_->flags(move.target) & GrammarState::kFinal) != 0 ||
                                 !grammar_->calls(move.target).empty();
      if (is_plain && (ends_or_calls || state_count_ == capacity_)) {
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

// Processes the entries, and collects those that can move in states_. Processing an entry may add further entries at
// the end.
void StackStepper::reach() {
  for (uint32_t i = 0; i < entry_count_ && result_ == StepResult::kDone && !is_unknown_; ++i) {
    const Entry entry = entries_[i];
    if (entry.node != kRuleMarker) process(entry);
  }
  if (!budget_->spend(1 + entry_count_ + pending_.link_count())) fail(StepResult::kTooComplex);
  if (entry_count_ <= kFewEntries) return;
  for (uint32_t i = entry_count_; i-- > 0;) index_.erase_newest(hash_entry(entries_[i].state, entries_[i].node), i);
}

StepResult StackStepper::store(uint32_t* set) {
  if (is_unknown_) {
    *set = kUnknownSet;
    return result_;
  }
  const bool repeats_by_count = result_ == StepResult::kDone && find_repeat() != nullptr;
  if (result_ == StepResult::kDone) fail(pending_.store({states_, state_count_}));
  if (result_ == StepResult::kDone) fail(store_set(set));
  if (repeats_by_count && result_ == StepResult::kDone) store_->state_set(*set).repeats_by_count = true;
  return result_;
}

StepResult StackStepper::store_set(uint32_t* set) {
  std::sort(states_, states_ + state_count_, stack_top_less);
  const auto count = static_cast<size_t>(std::unique(states_, states_ + state_count_) - states_);
  const bool fits = store_->intern_set({states_, count}, flags_, set);
  return fits ? StepResult::kDone : StepResult::kStoreFull;
}

// Finds or adds an entry, one by one if there are few and otherwise by the index. Returns null if a new entry would
// exceed the capacity.
StackStepper::Entry* StackStepper::find_or_add(uint32_t state, uint32_t node, bool* is_new) {
  *is_new = false;
  const auto equals = [&](uint32_t i) { return entries_[i].state == state && entries_[i].node == node; };
  if (entry_count_ <= kFewEntries) {
    for (uint32_t i = 0; i < entry_count_; ++i) {
      if (equals(i)) return &entries_[i];
    }
  } else {
    const uint32_t known = index_.find(hash_entry(state, node), equals);
    if (known != HashIndex::kAbsent) return &entries_[known];
  }
  if (entry_count_ == capacity_) {
    fail(StepResult::kTooComplex);
    return nullptr;
  }
  *is_new = true;
  Entry* entry = &entries_[entry_count_++];
  *entry = {state, node, 0};
  if (entry_count_ > kFewEntries) index_entries();
  return entry;
}

// Inserts the newest entry into the index, or all entries once they are no longer few.
void StackStepper::index_entries() {
  uint32_t i = entry_count_ == kFewEntries + 1 ? 0 : entry_count_ - 1;
  for (; i < entry_count_; ++i) index_.insert(hash_entry(entries_[i].state, entries_[i].node), i);
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
  if (entry.state == kPoppedMarker) return pop(entry.node);
  const bool is_final = (grammar_->flags(entry.state) & GrammarState::kFinal) != 0;
  // A rule that was pushed by this byte has read nothing yet. The grammar has an edge around its call for this case.
  if (is_final && !pending_.is_new(entry.node)) add_popped(entry.node);
  for (const GrammarCall& c : grammar_->calls(entry.state)) call(c, entry.node);
  if (!grammar_->moves(entry.state).empty()) states_[state_count_++] = {entry.state, entry.node};
}

void StackStepper::call(const GrammarCall& c, uint32_t node) {
  const uint32_t pending = pending_for(c.rule_start);
  const bool is_last = (grammar_->flags(c.target) & GrammarState::kLast) != 0;
  bool fits = false;
  if (c.loop != kNoLoop) {
    fits = pending_.link(pending, {c.target, node, c.loop, 0});
  } else if (is_last && c.target != kAcceptState) {
    fits = pending_.link_tail(pending, node);
  } else {
    fits = pending_.link(pending, {c.target, node});
  }
  if (!fits) fail(StepResult::kTooComplex);
}

void StackStepper::add_popped(uint32_t node) {
  bool is_new = false;
  find_or_add(kPoppedMarker, node, &is_new);
}

// Pops a node whose rule is complete.
void StackStepper::pop(uint32_t node) {
  if (!PendingNodes::is_pending(node)) {
    const auto frames = store_->frames(node);
    if (!budget_->spend(frames.size())) return fail(StepResult::kTooComplex);
    for (const StackFrame frame : frames) {
      if (frame.is_tail()) {
        add_popped(frame.parent);
      } else {
        return_to(frame);
      }
    }
    return;
  }
  for (uint32_t l = pending_.first_link(node); l != PendingNodes::kNone; l = pending_.next_link(l)) {
    if (!budget_->spend(1)) return fail(StepResult::kTooComplex);
    if (pending_.is_tail(l)) {
      add_popped(pending_.frame_of(l).parent);
    } else {
      return_to(pending_.frame_of(l));
    }
  }
}

// Continues in the caller of a complete rule. In a loop, another repetition may follow.
void StackStepper::return_to(const StackFrame& frame) {
  if (frame.loop == kNoLoop) return add(frame.state, frame.parent);
  const GrammarLoop& loop = grammar_->loop(frame.loop);
  if (loop.set != kNoSet) return return_to_set(frame);
  const uint64_t count = frame.count + 1;
  if (count >= loop.minimum) add(frame.state, frame.parent);
  if (count >= loop.maximum) return;
  const bool is_unbounded = loop.maximum == UINT32_MAX;
  const uint64_t kept = is_unbounded ? std::min<uint64_t>(count, loop.minimum) : count;
  if (!pending_.link(pending_for(loop.rule_start), {frame.state, frame.parent, frame.loop, kept})) {
    fail(StepResult::kTooComplex);
  }
}

// Continues after a member of a set with every member that may still come, and, if the set is complete, after the set.
void StackStepper::return_to_set(const StackFrame& frame) {
  const uint32_t set = grammar_->loop(frame.loop).set;
  const auto members = grammar_->members(set);
  if (!budget_->spend(members.size())) return fail(StepResult::kTooComplex);
  uint64_t read = frame.count;
  if (grammar_->loop(frame.loop).maximum == 1) read |= uint64_t{1} << (frame.loop - set);
  bool is_complete = true;
  for (uint32_t i = 0; i < members.size(); ++i) {
    const GrammarLoop& member = members[i];
    if (member.maximum == 1 && (read >> i & 1) != 0) continue;
    is_complete = is_complete && member.minimum == 0;
    if (member.rule_start == kAcceptState || (member.maximum != 1 && !is_complete)) continue;
    if (!pending_.link(pending_for(member.rule_start), {frame.state, frame.parent, set + i, read})) {
      return fail(StepResult::kTooComplex);
    }
  }
  if (is_complete) add(frame.state, frame.parent);
}

// Returns the index of the pending node for a rule, or kNone if there is not enough memory. The first call of the rule
// in this step creates the node.
uint32_t StackStepper::pending_for(uint32_t rule_start) {
  bool is_new = false;
  Entry* marker = find_or_add(rule_start, kRuleMarker, &is_new);
  if (marker == nullptr) return PendingNodes::kNone;
  if (!is_new) return marker->pending;
  const uint32_t pending = pending_.add(rule_start);
  marker->pending = pending;
  if (pending == PendingNodes::kNone) {
    fail(StepResult::kTooComplex);
  } else {
    add(rule_start, PendingNodes::kPending | pending);
  }
  return pending;
}

// If the newest byte was exactly one repetition of a loop, returns the state that begins the next repetition, and
// otherwise null. All states then follow from that state. Until the count reaches one of the loop's bounds, the next
// repetition leads to the same states with a higher count.
const StackTop* StackStepper::find_repeat() const {
  if (ended_.state == 0 || grammar_->counts().loops == 0) return nullptr;
  const StackTop* end = states_ + state_count_;
  const StackTop* found =
      std::find_if(static_cast<const StackTop*>(states_), end, [&](const StackTop& s) { return is_repeat(s); });
  return found == end ? nullptr : found;
}

// Returns whether the state begins the rule that has just ended, called by the same loop and by nothing else.
bool StackStepper::is_repeat(const StackTop& top) const {
  if (top.state != ended_.state || !pending_.is_new(top.node)) return false;
  const uint32_t link = pending_.first_link(top.node);
  if (pending_.rule_start(top.node) != top.state || pending_.next_link(link) != PendingNodes::kNone ||
      pending_.is_tail(link)) {
    return false;
  }
  const StackFrame now = pending_.frame_of(link);
  const auto is_same = [&](const StackFrame& before) {
    return before.loop == now.loop && before.state == now.state && before.parent == now.parent;
  };
  if (now.loop == kNoLoop) return false;
  if (!PendingNodes::is_pending(ended_.node)) {
    const FrameSpan frames = store_->frames(ended_.node);
    return frames.size() == 1 && is_same(frames[0]);
  }
  const uint32_t before = pending_.first_link(ended_.node);
  return pending_.next_link(before) == PendingNodes::kNone && is_same(pending_.frame_of(before));
}

// Reads further repetitions by increasing the count in place.
void StackStepper::repeat(std::span<const char> text, size_t* taken) {
  const StackTop* top = find_repeat();
  if (top == nullptr) return;
  const uint32_t link = pending_.first_link(top->node);
  StackFrame frame = pending_.frame_of(link);
  for (; *taken < text.size(); ++*taken) {
    const uint32_t symbol_class = grammar_->byte_class(static_cast<uint8_t>(text[*taken]));
    if (!ends_only({states_, state_count_}, top, symbol_class) || !count_on(frame.loop, &frame.count)) break;
  }
  pending_.set_count(link, frame);
}

StepResult StackStepper::step_loop(uint32_t set, std::span<const char> text, size_t* taken, uint32_t* next) {
  *taken = 0;
  const std::span<const StackTop> states = store_->states(set);
  const StackTop* top = counting_state(states);
  if (top == nullptr || states.size() > capacity_) return StepResult::kDone;
  StackFrame frame = store_->frames(top->node)[0];
  for (; *taken < text.size(); ++*taken) {
    const uint32_t symbol_class = grammar_->byte_class(static_cast<uint8_t>(text[*taken]));
    if (!ends_only(states, top, symbol_class) || !count_on(frame.loop, &frame.count)) break;
  }
  if (*taken == 0) return StepResult::kDone;
  begin();
  flags_ = store_->state_set(set).flags;
  // Storing the node moves the states of the set, so they are copied first.
  state_count_ = static_cast<uint32_t>(states.size());
  std::copy(states.begin(), states.end(), states_);
  StackTop& counting = states_[top - states.data()];
  uint32_t node = 0;
  if (!store_->intern_node({&frame, 1}, &node)) return StepResult::kStoreFull;
  counting.node = node;
  const StepResult result = store_set(next);
  if (result == StepResult::kDone) store_->state_set(*next).repeats_by_count = true;
  return result;
}

// Returns the only state that begins a repetition of a loop, if its node has a single frame. Nothing else refers to
// that node, so its count can be replaced.
const StackTop* StackStepper::counting_state(std::span<const StackTop> states) const {
  const StackTop* found = nullptr;
  for (const StackTop& top : states) {
    const FrameSpan frames = store_->frames(top.node);
    if (frames.size() != 1 || frames[0].loop == kNoLoop) continue;
    if (grammar_->loop(frames[0].loop).rule_start != top.state) continue;
    if (found != nullptr) return nullptr;
    found = &top;
  }
  const bool is_alone =
      found != nullptr && !store_->node(found->node).is_cyclic && grammar_->calls(found->state).empty();
  return is_alone ? found : nullptr;
}

// Returns whether the class moves no other state, and moves this one only to the end of its rule.
bool StackStepper::ends_only(std::span<const StackTop> states, const StackTop* top, uint32_t symbol_class) {
  if (!budget_->spend(states.size())) return false;
  for (const StackTop& s : states) {
    const auto moves = grammar_->moves(s.state, symbol_class);
    if (&s != top) {
      if (!moves.empty()) return false;
    } else if (moves.size() != 1 || (grammar_->flags(moves[0].target) & GrammarState::kLast) == 0) {
      return false;
    }
  }
  return true;
}

// Counts one more repetition. Fails if that reaches a bound.
bool StackStepper::count_on(uint32_t loop, uint64_t* count) const {
  const GrammarLoop& bounds = grammar_->loop(loop);
  const uint64_t more = *count + 1;
  if (more == bounds.minimum || more >= bounds.maximum) return false;
  if (bounds.maximum != UINT32_MAX || more < bounds.minimum) *count = more;
  return true;
}

}  // namespace sotto
