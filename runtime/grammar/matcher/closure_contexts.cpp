// The contexts made in one step: pending contexts that pass on each other's frames become
// groups, groups that refer to each other are stored as one component.
#include <algorithm>
#include <cassert>

#include "runtime/grammar/matcher/stack_stepper.h"

namespace sotto {

StepResult StackStepper::store_contexts() {
  frame_count_ = 0;
  if (first_new_ > 0) drop_unreachable();
  if (is_in_order()) return store_in_order();
  if (!group_pending()) return StepResult::kTooComplex;
  for (uint32_t group = 0; group < group_count_; ++group) {
    if (!collect_group(group)) return StepResult::kTooComplex;
  }
  // Now that every pending context has a group, equal frames can be seen.
  for (uint32_t group = 0; group < group_count_; ++group) {
    Group& g = groups_[group];
    for (uint32_t i = 0; i < g.frame_count; ++i) {
      uint32_t& parent = frames_.parent(g.first_frame + i);
      if ((parent & kPending) != 0) parent = kPending | pending_[parent - kPending].group;
    }
    g.frame_count = normalize(g.first_frame, g.frame_count);
  }
  return store_groups();
}

// Most contexts of earlier bytes have been left. Those that states still need keep their order.
void StackStepper::drop_unreachable() {
  uint32_t* stack = members_;
  uint32_t* numbers = ends_;
  uint32_t stack_size = 0;
  std::fill_n(numbers, pending_count_, kEmpty);
  const auto need = [&](uint32_t node) {
    if ((node & kPending) == 0 || numbers[node - kPending] != kEmpty) return;
    numbers[node - kPending] = 0;
    stack[stack_size++] = node - kPending;
  };
  for (uint32_t i = 0; i < state_count_; ++i) need(states_[i].node);
  while (stack_size > 0) {
    uint32_t l = pending_[stack[--stack_size]].first_link;
    for (; l != kEmpty; l = links_[l].next) need(links_[l].frame.parent);
  }
  uint32_t kept = 0;
  for (uint32_t p = 0; p < pending_count_; ++p) {
    if (numbers[p] == kEmpty) continue;
    numbers[p] = kept;
    pending_[kept++] = pending_[p];
  }
  pending_count_ = kept;
  const auto renumber = [&](uint32_t& node) {
    if ((node & kPending) != 0) node = kPending | numbers[node - kPending];
  };
  for (uint32_t i = 0; i < state_count_; ++i) renumber(states_[i].node);
  for (uint32_t p = 0; p < pending_count_; ++p) {
    for (uint32_t l = pending_[p].first_link; l != kEmpty; l = links_[l].next) {
      renumber(links_[l].frame.parent);
    }
  }
}

// Whether all refer only to those before them and to stored ones.
bool StackStepper::is_in_order() const {
  for (uint32_t p = 0; p < pending_count_; ++p) {
    for (uint32_t l = pending_[p].first_link; l != kEmpty; l = links_[l].next) {
      const uint32_t parent = links_[l].frame.parent;
      if ((parent & kPending) != 0 && parent - kPending >= p) return false;
    }
  }
  return true;
}

StepResult StackStepper::store_in_order() {
  StepResult result = StepResult::kDone;
  for (uint32_t p = 0; p < pending_count_ && result == StepResult::kDone; ++p) {
    pending_[p].group = p;
    result = store_pending(pending_[p], &groups_[p].node);
  }
  return result;
}

uint32_t StackStepper::parent_of(const Link& link) const {
  const uint32_t parent = link.frame.parent;
  return (parent & kPending) == 0 ? parent : groups_[parent - kPending].node;
}

StepResult StackStepper::store_pending(const Pending& pending, uint32_t* node) {
  const Link& first = links_[pending.first_link];
  const bool is_single = first.next == kEmpty;
  if (is_single && first.is_tail() && !store_->node(parent_of(first)).is_cyclic) {
    *node = parent_of(first);
    return StepResult::kDone;
  }
  if (is_single && !first.is_tail()) {
    StackFrame frame = frame_of(pending.first_link);
    frame.parent = parent_of(first);
    return store_->intern_node({&frame, 1}, node) ? StepResult::kDone : StepResult::kStoreFull;
  }
  frame_count_ = 0;
  for (uint32_t l = pending.first_link; l != kEmpty; l = links_[l].next) {
    StackFrame frame = frame_of(l);
    frame.parent = parent_of(links_[l]);
    const bool fits = links_[l].is_tail() ? add_frames(store_->frames(frame.parent)) : add_frame(frame);
    if (!fits) return StepResult::kTooComplex;
  }
  const FrameSpan frames = frames_.span(0, normalize(0, frame_count_));
  return store_->intern_node(frames, node) ? StepResult::kDone : StepResult::kStoreFull;
}

// Pending contexts that pass on each other's frames, in a circle, have the same frames.
bool StackStepper::group_pending() {
  components_.clear();
  for (uint32_t p = 0; p < pending_count_; ++p) {
    components_.add_vertex();
    for (uint32_t l = pending_[p].first_link; l != kEmpty; l = links_[l].next) {
      const uint32_t source = links_[l].frame.parent;
      const bool passes = links_[l].is_tail() && (source & kPending) != 0;
      if (passes && !components_.add_edge(source - kPending)) return false;
    }
  }
  if (components_.edge_count() == 0) {
    group_count_ = pending_count_;
    for (uint32_t p = 0; p < pending_count_; ++p) {
      pending_[p].group = p;
      groups_[p] = {pending_[p].rule_start, 0, 0, kEmpty, p};
    }
    return true;
  }
  components_.find();
  group_count_ = components_.component_count();
  for (uint32_t group = 0; group < group_count_; ++group) groups_[group] = {kEmpty, 0, 0, kEmpty, 0};
  for (uint32_t p = 0; p < pending_count_; ++p) {
    const uint32_t group = components_.component_of(p);
    pending_[p].group = group;
    groups_[group].rule_start = std::min(groups_[group].rule_start, pending_[p].rule_start);
  }
  // The members of each group, one after the other; `member` is where they begin.
  for (uint32_t p = 0; p < pending_count_; ++p) ++groups_[pending_[p].group].member;
  uint32_t end = 0;
  for (uint32_t group = 0; group < group_count_; ++group) end = groups_[group].member += end;
  for (uint32_t p = 0; p < pending_count_; ++p) members_[--groups_[pending_[p].group].member] = p;
  return true;
}

StackFrame StackStepper::frame_of(uint32_t link) const {
  const PlainFrame& frame = links_[link].frame;
  if (grammar_->counts().loops == 0) return {frame.state, frame.parent};
  return {frame.state, frame.parent, link_counts_[link].loop, link_counts_[link].count};
}

bool StackStepper::add_frame(const StackFrame& frame) {
  if (frame_count_ == frame_capacity_) return false;
  frames_.set(frame_count_++, frame);
  return true;
}

bool StackStepper::add_frames(FrameSpan frames) {
  if (frame_capacity_ - frame_count_ < frames.size() || !spend(frames.size())) return false;
  frames_.copy(frames, frame_count_);
  frame_count_ += static_cast<uint32_t>(frames.size());
  return true;
}

// All frames of a group; groups it takes frames from have lower numbers.
bool StackStepper::collect_group(uint32_t group) {
  Group& g = groups_[group];
  g.first_frame = frame_count_;
  const bool is_plain = components_.edge_count() == 0;
  const uint32_t first = g.member;
  const uint32_t end = is_plain ? first + 1 : group + 1 == group_count_ ? pending_count_ : groups_[group + 1].member;
  for (uint32_t m = first; m < end; ++m) {
    const uint32_t p = is_plain ? m : members_[m];
    for (uint32_t l = pending_[p].first_link; l != kEmpty; l = links_[l].next) {
      const StackFrame frame = frame_of(l);
      bool fits = true;
      if (!links_[l].is_tail()) {
        fits = add_frame(frame);
      } else if ((frame.parent & kPending) == 0) {
        fits = add_frames(store_->frames(frame.parent));
      } else if (const uint32_t other = pending_[frame.parent - kPending].group; other != group) {
        fits = add_frames(frames_.span(groups_[other].first_frame, groups_[other].frame_count));
      }
      if (!fits) return false;
    }
  }
  g.frame_count = normalize(g.first_frame, frame_count_ - g.first_frame);
  frame_count_ = g.first_frame + g.frame_count;
  return true;
}

// Sorts the frames and leaves out those that add nothing; returns how many are left.
uint32_t StackStepper::normalize(uint32_t first, uint32_t count) {
  if (count < 2) return count;
  count = frames_.sort(first, count);
  return grammar_->counts().loops == 0 ? count : drop_dominated(first, count);
}

// Of counts that differ only in how much may still follow, the one that allows most is
// enough: the lowest of those that may end with this text; in a loop without a maximum,
// where all of these are alike, the highest.
uint32_t StackStepper::drop_dominated(uint32_t first, uint32_t count) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const StackFrame frame = frames_[first + i];
    if (frame.loop != kNoLoop && kept > 0) {
      const StackFrame last = frames_[first + kept - 1];
      const bool is_same = last.loop == frame.loop && last.parent == frame.parent && last.state == frame.state;
      const GrammarLoop& loop = grammar_->loop(frame.loop);
      if (is_same && loop.maximum == UINT32_MAX) {
        frames_.set(first + kept - 1, frame);
        continue;
      }
      if (is_same && last.count + 1 >= loop.minimum) continue;
    }
    frames_.set(first + kept++, frame);
  }
  return kept;
}

StepResult StackStepper::store_groups() {
  components_.clear();
  bool any = false;
  for (uint32_t group = 0; group < group_count_; ++group) {
    components_.add_vertex();
    const Group& g = groups_[group];
    for (uint32_t i = 0; i < g.frame_count; ++i) {
      const uint32_t parent = frames_[g.first_frame + i].parent;
      if ((parent & kPending) == 0) continue;
      any = true;
      if (!components_.add_edge(parent - kPending)) return StepResult::kTooComplex;
    }
  }
  if (!any) {
    for (uint32_t group = 0; group < group_count_; ++group) {
      const StepResult result = store_single(group);
      if (result != StepResult::kDone) return result;
    }
    return StepResult::kDone;
  }
  components_.find();
  for (uint32_t i = 0; i < group_count_; ++i) members_[i] = i;
  // Components in their order, members in that of their rules: the same situation always
  // gives the same component.
  std::sort(members_, members_ + group_count_, [&](uint32_t a, uint32_t b) {
    const uint32_t x = components_.component_of(a);
    const uint32_t y = components_.component_of(b);
    return x != y ? x < y : groups_[a].rule_start < groups_[b].rule_start;
  });
  for (uint32_t begin = 0; begin < group_count_;) {
    uint32_t end = begin + 1;
    const uint32_t component = components_.component_of(members_[begin]);
    while (end < group_count_ && components_.component_of(members_[end]) == component) ++end;
    const StepResult result = store_component({members_ + begin, end - begin});
    if (result != StepResult::kDone) return result;
    begin = end;
  }
  return StepResult::kDone;
}

StepResult StackStepper::store_single(uint32_t group) {
  Group& g = groups_[group];
  const FrameSpan frames = frames_.span(g.first_frame, g.frame_count);
  return store_->intern_node(frames, &g.node) ? StepResult::kDone : StepResult::kStoreFull;
}

StepResult StackStepper::store_component(std::span<const uint32_t> members) {
  for (uint32_t i = 0; i < members.size(); ++i) groups_[members[i]].member = i;
  bool is_cyclic = false;
  uint32_t frame_total = 0;
  for (const uint32_t member : members) {
    Group& g = groups_[member];
    for (uint32_t i = 0; i < g.frame_count; ++i) {
      uint32_t& parent = frames_.parent(g.first_frame + i);
      if ((parent & kPending) == 0) continue;
      const Group& other = groups_[parent - kPending];
      const bool is_inside = other.node == kEmpty;
      parent = is_inside ? kInternal | other.member : other.node;
      is_cyclic |= is_inside;
    }
    g.frame_count = normalize(g.first_frame, g.frame_count);
    frame_total += g.frame_count;
  }
  if (!is_cyclic) return store_single(members[0]);
  uint32_t first = 0;
  if (!equals_known_component(members, &first)) {
    // The members' frames one after the other, behind all groups' frames.
    if (frame_capacity_ - frame_count_ < frame_total) return StepResult::kTooComplex;
    uint32_t end = 0;
    for (uint32_t i = 0; i < members.size(); ++i) {
      const Group& g = groups_[members[i]];
      frames_.copy(frames_.span(g.first_frame, g.frame_count), frame_count_ + end);
      ends_[i] = end += g.frame_count;
    }
    const FrameSpan frames = frames_.span(frame_count_, end);
    if (!store_->intern_component(frames, {ends_, members.size()}, &first)) {
      return StepResult::kStoreFull;
    }
  }
  for (uint32_t i = 0; i < members.size(); ++i) groups_[members[i]].node = first + i;
  return StepResult::kDone;
}

// A component may say the same as one it refers to: left and right recursion of one rule
// would otherwise add a context with every repetition. That is so if putting the known
// members for the new ones makes their frames equal.
bool StackStepper::equals_known_component(std::span<const uint32_t> members, uint32_t* first) {
  constexpr uint32_t kMostMembers = 16;
  constexpr uint32_t kMostCandidates = 4;
  if (members.size() > kMostMembers) return false;
  const Group& g = groups_[members[0]];
  uint32_t candidates = 0;
  uint32_t last = kEmpty;
  for (uint32_t i = g.frame_count; i > 0 && candidates < kMostCandidates; --i) {
    const uint32_t parent = frames_[g.first_frame + i - 1].parent;
    if (parent >= kInternal) continue;
    const uint32_t known = store_->node(parent).component;
    const StackNode& node = store_->node(known);
    if (known == last || !node.is_cyclic || node.component_size != members.size()) continue;
    last = known;
    ++candidates;
    if (same_under(members, known)) {
      *first = known;
      return true;
    }
  }
  return false;
}

bool StackStepper::same_under(std::span<const uint32_t> members, uint32_t known) {
  const uint32_t begin = frame_count_;
  bool same = true;
  for (uint32_t i = 0; same && i < members.size(); ++i) {
    const Group& g = groups_[members[i]];
    const auto frames = store_->frames(known + i);
    if (!add_frames(frames_.span(g.first_frame, g.frame_count)) || !add_frames(frames)) {
      same = false;
      break;
    }
    for (uint32_t k = 0; k < g.frame_count; ++k) {
      uint32_t& parent = frames_.parent(begin + k);
      if (parent >= kInternal) parent = known + (parent - kInternal);
    }
    const uint32_t second = begin + g.frame_count;
    const uint32_t count = normalize(begin, g.frame_count);
    const uint32_t known_count = normalize(second, static_cast<uint32_t>(frames.size()));
    same = count == known_count;
    for (uint32_t k = 0; same && k < count; ++k) same = frames_[begin + k] == frames_[second + k];
    frame_count_ = begin;
  }
  frame_count_ = begin;
  return same;
}

}  // namespace sotto
