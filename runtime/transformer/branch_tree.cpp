#include "runtime/transformer/branch_tree.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace sotto {
namespace {

constexpr size_t kMaxStreamSpans = std::size(SlotWindow{}.spans);

}  // namespace

void BranchTree::lay_out(uint32_t sequence_count, uint32_t sequence_tokens, Arena* arena) {
  sequence_count_ = sequence_count;
  sequence_tokens_ = sequence_tokens;
  node_count_ = sequence_count * sequence_tokens;
  parents_ = arena->take<uint32_t>(node_count_);
  uses_ = arena->take<uint32_t>(node_count_);
  live_ = arena->take<Tip>(sequence_count);
  grown_ = arena->take<Tip>(sequence_count);
  spans_ = arena->take<SlotSpan>(sequence_count * (kMaxStreamSpans + sequence_tokens));
}

void BranchTree::begin(uint32_t first_slot, const SlotWindow& window) {
  first_slot_ = first_slot;
  window_ = window;
  cursor_ = 0;
  live_count_ = 0;
  grown_count_ = 0;
  std::fill_n(uses_, node_count_, 0);
}

void BranchTree::grow(std::span<const BranchStep> steps) {
  assert(steps.size() <= sequence_count_ && grown_count_ == 0);
  for (const BranchStep& step : steps) {
    assert(step.from == BranchStep::kStream || step.from < live_count_);
    const Tip tip = step.from == BranchStep::kStream ? Tip() : live_[step.from];
    assert(tip.depth < sequence_tokens_);
    grown_[grown_count_++] = {take(tip.node), tip.depth + 1};
  }
}

void BranchTree::commit() {
  std::swap(live_, grown_);
  std::swap(live_count_, grown_count_);
  roll_back();
}

void BranchTree::roll_back() {
  for (uint32_t i = 0; i < grown_count_; ++i) release(grown_[i].node);
  grown_count_ = 0;
}

void BranchTree::keep(uint32_t sequence) {
  assert(sequence < live_count_);
  std::swap(live_[0], live_[sequence]);
  while (live_count_ > 1) release(live_[--live_count_].node);
}

// At most sequence_count nodes lie at any depth, so there is always one left.
uint32_t BranchTree::take(uint32_t parent) {
  const uint32_t node = find_free(parent);
  assert(uses_[node] == 0);
  uses_[node] = 1;
  parents_[node] = parent;
  if (parent != kNone) ++uses_[parent];
  return node;
}

// Attention is fastest over consecutive slots: behind the parent's, or where some are free.
uint32_t BranchTree::find_free(uint32_t parent) {
  if (parent != kNone && parent + 1 < node_count_ && uses_[parent + 1] == 0) return parent + 1;
  const uint32_t wanted = std::min(sequence_tokens_, uint32_t{32});
  uint32_t any = kNone, run = 0;
  for (uint32_t i = 0; i < node_count_; ++i) {
    const uint32_t node = (cursor_ + i) % node_count_;
    if (node == 0) run = 0;
    run = uses_[node] == 0 ? run + 1 : 0;
    if (run == 0) continue;
    if (any == kNone) any = node;
    if (run < wanted) continue;
    cursor_ = node + 1;
    return node + 1 - wanted;
  }
  assert(any != kNone);
  return any;
}

void BranchTree::release(uint32_t node) {
  while (node != kNone && --uses_[node] == 0) node = parents_[node];
}

std::span<const SlotSpan> BranchTree::grown_window(size_t step) {
  const size_t capacity = kMaxStreamSpans + sequence_tokens_;
  SlotSpan* const row = spans_ + step * capacity;
  // Ancestors come newest first, so the row fills from its end.
  SlotSpan* first = row + capacity;
  for (uint32_t node = grown_[step].node; node != kNone; node = parents_[node]) {
    const uint32_t slot = first_slot_ + node;
    if (first != row + capacity && first->first == slot + 1) {
      first->first = slot;
      ++first->count;
    } else {
      *--first = {slot, 1};
    }
  }
  for (uint32_t i = window_.span_count; i-- > 0;) *--first = window_.spans[i];
  return {first, row + capacity};
}

}  // namespace sotto
