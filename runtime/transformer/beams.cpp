#include "runtime/transformer/beams.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace sotto {
namespace {

constexpr size_t kMaxStreamSpans = std::size(SlotWindow{}.spans);

}  // namespace

void BeamSlots::layout(Arena& arena, uint32_t sequence_count, uint32_t sequence_tokens) {
  sequence_count_ = sequence_count;
  sequence_tokens_ = sequence_tokens;
  node_count_ = sequence_count * sequence_tokens;
  parents_ = arena.take<uint32_t>(node_count_);
  uses_ = arena.take<uint32_t>(node_count_);
  live_ = arena.take<Tip>(sequence_count);
  grown_ = arena.take<Tip>(sequence_count);
  spans_ = arena.take<SlotSpan>(sequence_count * (kMaxStreamSpans + sequence_tokens));
}

void BeamSlots::begin(uint32_t first_slot, const SlotWindow& window) {
  first_slot_ = first_slot;
  window_ = window;
  cursor_ = 0;
  live_count_ = 0;
  grown_count_ = 0;
  std::fill_n(uses_, node_count_, 0);
}

void BeamSlots::grow(std::span<const BeamStep> steps) {
  assert(steps.size() <= sequence_count_ && grown_count_ == 0);
  for (const BeamStep& step : steps) {
    assert(step.from == BeamStep::kStream || step.from < live_count_);
    const Tip tip = step.from == BeamStep::kStream ? Tip() : live_[step.from];
    assert(tip.depth < sequence_tokens_);
    grown_[grown_count_++] = {take(tip.node), tip.depth + 1};
  }
}

void BeamSlots::commit() {
  std::swap(live_, grown_);
  std::swap(live_count_, grown_count_);
  roll_back();
}

void BeamSlots::roll_back() {
  for (uint32_t i = 0; i < grown_count_; ++i) release(grown_[i].node);
  grown_count_ = 0;
}

void BeamSlots::keep(uint32_t sequence) {
  assert(sequence < live_count_);
  std::swap(live_[0], live_[sequence]);
  while (live_count_ > 1) release(live_[--live_count_].node);
}

// Takes a free node for a child of `parent`. A free node always exists, because there are at most sequence_count nodes
// of each depth.
uint32_t BeamSlots::take(uint32_t parent) {
  const uint32_t node = find_free(parent);
  assert(uses_[node] == 0);
  uses_[node] = 1;
  parents_[node] = parent;
  if (parent != kNoIndex) ++uses_[parent];
  return node;
}

// Finds a free node. Attention is fastest over consecutive slots, so the best node is the one after the parent, and the
// second best begins a run of free nodes.
uint32_t BeamSlots::find_free(uint32_t parent) {
  if (parent != kNoIndex && parent + 1 < node_count_ && uses_[parent + 1] == 0) return parent + 1;
  const uint32_t wanted = std::min(sequence_tokens_, uint32_t{32});
  uint32_t any = kNoIndex, run = 0;
  for (uint32_t i = 0; i < node_count_; ++i) {
    const uint32_t node = (cursor_ + i) % node_count_;
    if (node == 0) run = 0;
    run = uses_[node] == 0 ? run + 1 : 0;
    if (run == 0) continue;
    if (any == kNoIndex) any = node;
    if (run < wanted) continue;
    cursor_ = node + 1;
    return node + 1 - wanted;
  }
  assert(any != kNoIndex);
  return any;
}

void BeamSlots::release(uint32_t node) {
  while (node != kNoIndex && --uses_[node] == 0) node = parents_[node];
}

// Returns the slots of the stream and of the ancestors of a step.
std::span<const SlotSpan> BeamSlots::grown_window(size_t step) {
  const size_t capacity = kMaxStreamSpans + sequence_tokens_;
  SlotSpan* const row = spans_ + step * capacity;
  // Ancestors are visited from the newest to the oldest, so the row is filled from its end.
  SlotSpan* first = row + capacity;
  for (uint32_t node = grown_[step].node; node != kNoIndex; node = parents_[node]) {
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

void Beams::layout(Arena& arena, uint32_t sequence_count, uint32_t sequence_tokens, KvSequence* sequence) {
  sequence_ = sequence;
  slots_.layout(arena, sequence_count, sequence_tokens);
  rows_ = arena.take<TokenRow>(sequence_count);
}

Status Beams::begin(const Cancellation& cancellation, uint32_t* capacity) {
  SOTTO_TRY(sequence_->take_logits(cancellation));
  slots_.begin(sequence_->context_tokens(), sequence_->forward().ring().window_of(sequence_->position() - 1));
  *capacity = sequence_->positions_left();
  return Status::kOk;
}

Status Beams::grow(std::span<const BeamStep> steps, const Cancellation& cancellation) {
  slots_.grow(steps);
  for (size_t i = 0; i < steps.size(); ++i) {
    assert(slots_.grown_depth(i) < sequence_->positions_left());
    rows_[i] = {&sequence_->forward(), steps[i].token, sequence_->position() + slots_.grown_depth(i),
                slots_.grown_window(i)};
  }
  const Status status = sequence_->evaluate_rows({rows_, steps.size()}, cancellation);
  if (status == Status::kOk) {
    slots_.commit();
  } else {
    slots_.roll_back();
  }
  return status;
}

float Beams::similarity(uint32_t step) const {
  return sequence_->hidden_history().max_similarity(rows_[step].slot(), rows_[step].window);
}

}  // namespace sotto
