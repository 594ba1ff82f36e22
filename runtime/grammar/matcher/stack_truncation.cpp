#include "runtime/grammar/matcher/stack_truncation.h"

#include <algorithm>

namespace sotto {

void StackTruncation::lay_out(Arena& arena, const MatcherLimits& limits, const SlotTable& slots) {
  capacity_ = limits.work_count;
  frame_capacity_ = limits.work_count;
  slots_ = slots;
  entries_ = arena.take<Entry>(capacity_);
  stack_ = arena.take<uint32_t>(capacity_);
  frames_ = arena.take<StackFrame>(frame_capacity_);
  states_ = arena.take<State>(capacity_);
}

void StackTruncation::init(const CompiledGrammar& grammar, StackStore& store, uint32_t longest) {
  grammar_ = &grammar;
  store_ = &store;
  longest_ = longest;
}

// Components that refer to themselves keep their counts: they would have to be unrolled.
bool StackTruncation::is_plain(uint32_t node, uint32_t depth) const {
  const StackNode& n = store_->node(node);
  return n.depth <= depth && (!n.counts || n.is_cyclic);
}

bool StackTruncation::applies(uint32_t set, uint32_t depth) const {
  for (const State& top : store_->states(set)) {
    if (!is_plain(top.node, depth)) return true;
  }
  return false;
}

StackTruncation::Entry* StackTruncation::find(Key key, uint32_t* slot) const {
  const uint64_t hash = (uint64_t{key.node} << 32 | key.depth) * 0x9E3779B97F4A7C15u;
  *slot = slots_.first(static_cast<uint32_t>(hash >> 33));
  for (; slots_[*slot] != 0; *slot = slots_.next(*slot)) {
    Entry& entry = entries_[slots_[*slot] - 1];
    if (entry.key.node == key.node && entry.key.depth == key.depth) return &entry;
  }
  return nullptr;
}

// kOpen: not yet.
uint32_t StackTruncation::known(uint32_t node, uint32_t depth) const {
  if (is_plain(node, depth)) return node;
  if (depth == 0) return kUnknownNode;
  uint32_t slot = 0;
  const Entry* entry = find({node, depth}, &slot);
  return entry == nullptr ? kOpen : entry->result;
}

bool StackTruncation::push(Key key) {
  uint32_t slot = 0;
  if (entry_count_ == capacity_ || find(key, &slot) != nullptr) return entry_count_ != capacity_;
  entries_[entry_count_] = {key, kOpen, slot};
  slots_.set(slot, entry_count_ + 1);
  stack_[stack_size_++] = entry_count_++;
  return true;
}

// Depths fall along the way, so nothing is pushed while it is on the stack.
bool StackTruncation::push_parents(const Entry& entry) {
  const Key key = entry.key;
  const auto frames = store_->frames(key.node);
  if (frames.size() > steps_) return false;
  steps_ -= frames.size();
  for (const StackFrame frame : frames) {
    if (known(frame.parent, key.depth - 1) == kOpen && !push({frame.parent, key.depth - 1})) {
      return false;
    }
  }
  return true;
}

// A count from which no token can reach the minimum is as good as none; one above, from
// which no token can reach the maximum, as good as the minimum itself.
uint32_t StackTruncation::abstract_count(const StackFrame& frame) const {
  if (frame.loop == kNoLoop) return frame.count;
  const GrammarLoop& loop = grammar_->loop(frame.loop);
  const uint64_t reach = uint64_t{frame.count} + longest_;
  if (reach < loop.minimum) return 0;
  const bool is_free = loop.maximum == UINT32_MAX || reach < loop.maximum;
  return frame.count >= loop.minimum && is_free ? loop.minimum : frame.count;
}

bool StackTruncation::build(Entry& entry, StepResult* result) {
  const auto frames = store_->frames(entry.key.node);
  if (frames.size() > frame_capacity_) {
    *result = StepResult::kTooComplex;
    return false;
  }
  uint32_t count = 0;
  for (const StackFrame frame : frames) {
    frames_[count++] = {frame.state, known(frame.parent, entry.key.depth - 1), frame.loop, abstract_count(frame)};
  }
  std::sort(frames_, frames_ + count, frame_less);
  count = static_cast<uint32_t>(std::unique(frames_, frames_ + count) - frames_);
  if (store_->intern_node({frames_, count}, &entry.result)) return true;
  *result = StepResult::kStoreFull;
  return false;
}

StepResult StackTruncation::resolve(Key root) {
  if (known(root.node, root.depth) != kOpen) return StepResult::kDone;
  if (!push(root)) return StepResult::kTooComplex;
  while (stack_size_ > 0) {
    Entry& entry = entries_[stack_[stack_size_ - 1]];
    const uint32_t before = stack_size_;
    if (!push_parents(entry)) return StepResult::kTooComplex;
    if (stack_size_ > before) continue;
    StepResult result = StepResult::kDone;
    if (!build(entry, &result)) return result;
    --stack_size_;
  }
  return StepResult::kDone;
}

StepResult StackTruncation::apply(uint32_t set, uint32_t depth, uint64_t* steps, uint32_t* abstract) {
  entry_count_ = stack_size_ = 0;
  steps_ = *steps;
  const StepResult result = make_set(set, depth, abstract);
  for (uint32_t i = 0; i < entry_count_; ++i) slots_.set(entries_[i].slot, 0);
  *steps = steps_;
  return result;
}

StepResult StackTruncation::make_set(uint32_t set, uint32_t depth, uint32_t* abstract) {
  const auto states = store_->states(set);
  if (states.size() > capacity_) return StepResult::kTooComplex;
  uint32_t count = 0;
  for (const State& top : states) {
    const StepResult result = resolve({top.node, depth});
    if (result != StepResult::kDone) return result;
    states_[count++] = {top.state, known(top.node, depth)};
  }
  std::sort(states_, states_ + count, state_less);
  count = static_cast<uint32_t>(std::unique(states_, states_ + count) - states_);
  const bool fits = store_->intern_set({states_, count}, store_->state_set(set).flags, abstract);
  return fits ? StepResult::kDone : StepResult::kStoreFull;
}

}  // namespace sotto
