// Texts of a loop that are one byte each: what follows is the same until the count reaches one
// of the loop's bounds.
#include <algorithm>

#include "runtime/grammar/matcher/stack_stepper.h"

namespace sotto {

// Whether the rule that ended was called again by the same loop, and by nothing else: then all
// states follow from that, and from its next text, too.
bool StackStepper::is_repeat() const {
  if (ended_.state == 0 || grammar_->counts().loops == 0) return false;
  return std::any_of(states_, states_ + state_count_, [&](const State& top) { return is_repeat(top); });
}

bool StackStepper::is_repeat(const State& top) const {
  if (top.state != ended_.state || !is_new(top.node)) return false;
  const Pending& pending = pending_[top.node - kPending];
  const Link& link = links_[pending.first_link];
  if (pending.rule_start != top.state || link.next != kEmpty || link.is_tail()) return false;
  const StackFrame now = frame_of(pending.first_link);
  const auto is_same = [&](const StackFrame& before) {
    return before.loop == now.loop && before.state == now.state && before.parent == now.parent;
  };
  if (now.loop == kNoLoop) return false;
  if ((ended_.node & kPending) == 0) {
    const FrameSpan frames = store_->frames(ended_.node);
    return frames.size() == 1 && is_same(frames[0]);
  }
  const uint32_t first = pending_[ended_.node - kPending].first_link;
  return links_[first].next == kEmpty && is_same(frame_of(first));
}

// Behind a repeat: more of the same, in place.
void StackStepper::repeat(std::span<const char> text, size_t* taken) {
  const State* top = std::find_if(states_, states_ + state_count_, [&](const State& i) { return is_repeat(i); });
  LinkCount& count = link_counts_[pending_[top->node - kPending].first_link];
  for (; *taken < text.size(); ++*taken) {
    const uint32_t symbol_class = grammar_->byte_class(static_cast<uint8_t>(text[*taken]));
    if (!ends_only({states_, state_count_}, top, symbol_class)) return;
    if (!count_on(count.loop, &count.count)) return;
  }
}

StepResult StackStepper::step_loop(uint32_t set, std::span<const char> text, size_t* taken, uint32_t* next) {
  *taken = 0;
  const std::span<const State> states = store_->states(set);
  const State* top = counting_state(states);
  if (top == nullptr || states.size() > work_capacity_) return StepResult::kDone;
  StackFrame frame = store_->frames(top->node)[0];
  for (; *taken < text.size(); ++*taken) {
    const uint32_t symbol_class = grammar_->byte_class(static_cast<uint8_t>(text[*taken]));
    if (!ends_only(states, top, symbol_class) || !count_on(frame.loop, &frame.count)) break;
  }
  if (*taken == 0) return StepResult::kDone;
  begin();
  flags_ = store_->state_set(set).flags;
  uint32_t node = 0;
  if (!store_->intern_node({&frame, 1}, &node)) return StepResult::kStoreFull;
  for (const State& i : states) states_[state_count_++] = {i.state, &i == top ? node : i.node};
  const StepResult result = store_set(next);
  if (result == StepResult::kDone) store_->state_set(*next).counts_on = true;
  return result;
}

// The only one in a loop's text that has one frame; nothing else refers to its context then.
const State* StackStepper::counting_state(std::span<const State> states) const {
  const State* found = nullptr;
  for (const State& top : states) {
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

// Whether no other top moves by the class, and this one only to the end of its rule.
bool StackStepper::ends_only(std::span<const State> states, const State* top, uint32_t symbol_class) {
  if (!spend(states.size())) return false;
  for (const State& i : states) {
    const auto moves = grammar_->moves(i.state, symbol_class);
    if (&i != top) {
      if (!moves.empty()) return false;
    } else if (moves.size() != 1 || (grammar_->flags(moves[0].target) & GrammarState::kLast) == 0) {
      return false;
    }
  }
  return true;
}

// One more text, unless what may follow is not the same behind it.
bool StackStepper::count_on(uint32_t loop, uint32_t* count) const {
  const GrammarLoop& bounds = grammar_->loop(loop);
  const uint32_t more = *count + 1;
  if (more == bounds.minimum || more >= bounds.maximum) return false;
  if (bounds.maximum != UINT32_MAX || more < bounds.minimum) *count = more;
  return true;
}

}  // namespace sotto
