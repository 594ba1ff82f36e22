#include "runtime/grammar/matcher/stack_truncation.h"

#include <algorithm>

namespace sotto {
namespace {

uint32_t hash_key(uint32_t node, uint32_t depth) {
  return static_cast<uint32_t>(mix_hash(0, uint64_t{node} << 32 | depth));
}

}  // namespace

void StackTruncation::layout(Arena& arena, const MatcherParams& limits, const HashIndex& index) {
  capacity_ = limits.visit_count;
  index_ = index;
  entries_ = arena.take<Entry>(capacity_);
  stack_ = arena.take<uint32_t>(capacity_);
  frames_ = arena.take<StackFrame>(capacity_);
  states_ = arena.take<StackTop>(capacity_);
}

void StackTruncation::init(const CompiledGrammar& grammar, StackStore& store, StepBudget& budget, uint32_t longest) {
  grammar_ = &grammar;
  store_ = &store;
  budget_ = &budget;
  longest_ = longest;
}

// Returns whether truncation leaves the node as it is. Cyclic components keep their counts, because replacing them
// would require unrolling the cycle.
bool StackTruncation::is_unchanged(uint32_t node, uint32_t depth) const {
  const StackNode& n = store_->node(node);
  return n.depth <= depth && (!n.has_counted_loop || n.is_cyclic);
}

bool StackTruncation::applies(uint32_t set, uint32_t depth) const {
  for (const StackTop& top : store_->states(set)) {
    if (!is_unchanged(top.node, depth)) return true;
  }
  return false;
}

StepResult StackTruncation::apply(uint32_t set, uint32_t depth, uint32_t* truncated) {
  entry_count_ = stack_size_ = 0;
  keeps_completions_ = depth == StackNode::kMaxDepth;
  const StepResult result = make_set(set, depth, truncated);
  for (uint32_t i = entry_count_; i-- > 0;) {
    index_.erase_newest(hash_key(entries_[i].key.node, entries_[i].key.depth), i);
  }
  return result;
}

StepResult StackTruncation::make_set(uint32_t set, uint32_t depth, uint32_t* truncated) {
  const auto states = store_->states(set);
  if (states.size() > capacity_) return StepResult::kTooComplex;
  // Storing nodes moves the states of the set, so they are copied first.
  auto count = static_cast<uint32_t>(states.size());
  std::copy(states.begin(), states.end(), states_);
  for (uint32_t i = 0; i < count; ++i) {
    StackTop& top = states_[i];
    SOTTO_TRY_STEP(resolve({top.node, depth}));
    top.node = result_of(top.node, depth);
  }
  std::sort(states_, states_ + count, stack_top_less);
  count = static_cast<uint32_t>(std::unique(states_, states_ + count) - states_);
  const bool fits = store_->intern_set({states_, count}, store_->state_set(set).flags, truncated);
  return fits ? StepResult::kDone : StepResult::kStoreFull;
}

// Truncates a node, after the nodes below it, with an explicit stack. The depth decreases with every frame, so a node
// is never pushed while it is on the stack.
StepResult StackTruncation::resolve(Key root) {
  if (result_of(root.node, root.depth) != kOpen) return StepResult::kDone;
  if (!push(root)) return StepResult::kTooComplex;
  while (stack_size_ > 0) {
    Entry& entry = entries_[stack_[stack_size_ - 1]];
    const uint32_t before = stack_size_;
    if (!push_parents(entry)) return StepResult::kTooComplex;
    if (stack_size_ > before) continue;
    SOTTO_TRY_STEP(build(entry));
    --stack_size_;
  }
  return StepResult::kDone;
}

// Returns the truncated node, or kOpen if it has not been made yet.
uint32_t StackTruncation::result_of(uint32_t node, uint32_t depth) const {
  if (is_unchanged(node, depth)) return node;
  if (depth == 0) return kUnknownNode;
  const uint32_t entry = find({node, depth});
  return entry == HashIndex::kAbsent ? kOpen : entries_[entry].result;
}

uint32_t StackTruncation::find(Key key) const {
  return index_.find(hash_key(key.node, key.depth), [&](uint32_t i) {
    return entries_[i].key.node == key.node && entries_[i].key.depth == key.depth;
  });
}

bool StackTruncation::push(Key key) {
  if (entry_count_ == capacity_) return false;
  if (find(key) != HashIndex::kAbsent) return true;
  index_.insert(hash_key(key.node, key.depth), entry_count_);
  entries_[entry_count_] = {key, kOpen};
  stack_[stack_size_++] = entry_count_++;
  return true;
}

bool StackTruncation::push_parents(const Entry& entry) {
  const Key key = entry.key;
  const auto frames = store_->frames(key.node);
  if (!budget_->spend(frames.size())) return false;
  for (const StackFrame frame : frames) {
    const Key parent{frame.parent, key.depth - 1};
    if (result_of(parent.node, parent.depth) == kOpen && !push(parent)) return false;
  }
  return true;
}

StepResult StackTruncation::build(Entry& entry) {
  const auto frames = store_->frames(entry.key.node);
  if (frames.size() > capacity_) return StepResult::kTooComplex;
  uint32_t count = 0;
  for (const StackFrame frame : frames) {
    const uint32_t parent = result_of(frame.parent, entry.key.depth - 1);
    frames_[count++] = {frame.state, parent, frame.loop, representative_count(frame)};
  }
  std::sort(frames_, frames_ + count, frame_less);
  count = static_cast<uint32_t>(std::unique(frames_, frames_ + count) - frames_);
  const bool fits = store_->intern_node({frames_, count}, &entry.result);
  return fits ? StepResult::kDone : StepResult::kStoreFull;
}

// Returns the representative of a frame's count. If no token can reach the minimum, the count is equivalent to zero. If
// the minimum has been reached and no token can reach the maximum, it is equivalent to the minimum.
uint64_t StackTruncation::representative_count(const StackFrame& frame) const {
  if (frame.loop == kNoLoop) return frame.count;
  const GrammarLoop& loop = grammar_->loop(frame.loop);
  if (loop.set != kNoSet) return frame.count;
  const uint64_t reach = frame.count + longest_;
  if (reach < loop.minimum) return keeps_completions_ ? frame.count : 0;
  const bool is_free = loop.maximum == UINT32_MAX || reach < loop.maximum;
  return frame.count >= loop.minimum && is_free ? loop.minimum : frame.count;
}

}  // namespace sotto
