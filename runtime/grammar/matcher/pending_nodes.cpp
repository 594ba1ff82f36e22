#include "runtime/grammar/matcher/pending_nodes.h"

#include <algorithm>
#include <cassert>

namespace sotto {

void PendingNodes::layout(Arena& arena, const CompiledGrammar& grammar, const MatcherParams& limits) {
  link_capacity_ = limits.visit_count;
  frame_capacity_ = limits.frame_count;
  // The nodes that one byte creates belong to different rules. Each of them has two entries in the stepper: its marker
  // and its first state.
  constexpr uint32_t kMinCapacity = 16;
  capacity_ = std::min(limits.visit_count / 2 + 1, std::max(grammar.rule_count(), kMinCapacity));
  nodes_ = arena.take<Pending>(capacity_);
  links_ = arena.take<Link>(link_capacity_);
  link_counts_.layout(arena, link_capacity_, grammar);
  groups_ = arena.take<Group>(capacity_);
  frames_.layout(arena, frame_capacity_, grammar);
  members_ = arena.take<uint32_t>(capacity_);
  ends_ = arena.take<uint32_t>(capacity_);
  components_.layout(arena, capacity_, frame_capacity_);
}

void PendingNodes::init(const CompiledGrammar& grammar, StackStore& store, StepBudget& budget) {
  grammar_ = &grammar;
  store_ = &store;
  budget_ = &budget;
}

StepResult PendingNodes::store(std::span<StackTop> states) {
  if (count_ == 0) return StepResult::kDone;
  frame_count_ = 0;
  if (first_new_ > 0) drop_unreachable(states);
  if (!is_in_order() && merge_tail_calls(states)) drop_unreachable(states);
  if (is_in_order()) {
    SOTTO_TRY_STEP(store_in_order());
  } else {
    if (!find_groups()) return StepResult::kTooComplex;
    for (uint32_t group = 0; group < group_count_; ++group) {
      if (!collect_group(group)) return StepResult::kTooComplex;
    }
    SOTTO_TRY_STEP(store_groups());
  }
  for (StackTop& top : states) {
    if (is_pending(top.node)) top.node = groups_[nodes_[top.node - kPending].group].node;
  }
  return StepResult::kDone;
}

// Drops the nodes that no state needs. When several bytes are read in one step, these are most nodes of the earlier
// bytes. The others keep their order.
void PendingNodes::drop_unreachable(std::span<StackTop> states) {
  uint32_t* stack = members_;
  uint32_t* numbers = ends_;
  uint32_t stack_size = 0;
  std::fill_n(numbers, count_, kNone);
  const auto need = [&](uint32_t node) {
    if (!is_pending(node) || numbers[node - kPending] != kNone) return;
    numbers[node - kPending] = 0;
    stack[stack_size++] = node - kPending;
  };
  for (const StackTop& top : states) need(top.node);
  while (stack_size > 0) {
    uint32_t l = nodes_[stack[--stack_size]].first_link;
    for (; l != kNone; l = links_[l].next) need(links_[l].frame.parent);
  }
  uint32_t kept = 0;
  for (uint32_t p = 0; p < count_; ++p) {
    if (numbers[p] == kNone) continue;
    numbers[p] = kept;
    nodes_[kept++] = nodes_[p];
  }
  count_ = kept;
  const auto renumber = [&](uint32_t& node) {
    if (is_pending(node)) node = kPending | numbers[node - kPending];
  };
  for (StackTop& top : states) renumber(top.node);
  for (uint32_t p = 0; p < count_; ++p) {
    for (uint32_t l = nodes_[p].first_link; l != kNone; l = links_[l].next) {
      renumber(links_[l].frame.parent);
    }
  }
}

// Replaces the nodes that one tail call has made by the node of their caller, an equal node that is older. Returns
// whether there were any.
bool PendingNodes::merge_tail_calls(std::span<StackTop> states) {
  bool any = false;
  const auto replace = [&](uint32_t& node) {
    if (is_pending(node)) node = nodes_[node - kPending].equal;
  };
  for (uint32_t p = 0; p < count_; ++p) {
    const Link& first = links_[nodes_[p].first_link];
    const bool is_equal = first.next == kNone && first.is_tail();
    nodes_[p].equal = is_equal ? first.frame.parent : kPending | p;
    if (is_equal) replace(nodes_[p].equal);
    any |= is_equal;
  }
  if (!any) return false;
  for (StackTop& top : states) replace(top.node);
  for (uint32_t l = 0; l < link_count_; ++l) replace(links_[l].frame.parent);
  return true;
}

// Returns whether every node refers only to stored nodes and to pending nodes before it.
bool PendingNodes::is_in_order() const {
  for (uint32_t p = 0; p < count_; ++p) {
    for (uint32_t l = nodes_[p].first_link; l != kNone; l = links_[l].next) {
      const uint32_t parent = links_[l].frame.parent;
      if (is_pending(parent) && parent - kPending >= p) return false;
    }
  }
  return true;
}

StepResult PendingNodes::store_in_order() {
  StepResult result = StepResult::kDone;
  for (uint32_t p = 0; p < count_ && result == StepResult::kDone; ++p) {
    nodes_[p].group = p;
    result = store_node(nodes_[p], &groups_[p].node);
  }
  return result;
}

uint32_t PendingNodes::stored_parent(const Link& link) const {
  const uint32_t parent = link.frame.parent;
  return !is_pending(parent) ? parent : groups_[parent - kPending].node;
}

// Stores a node whose parents have all been stored.
StepResult PendingNodes::store_node(const Pending& pending, uint32_t* node) {
  const Link& first = links_[pending.first_link];
  const bool is_single = first.next == kNone;
  if (is_single && first.is_tail()) {
    *node = stored_parent(first);
    return StepResult::kDone;
  }
  if (is_single && !first.is_tail()) {
    StackFrame frame = frame_of(pending.first_link);
    frame.parent = stored_parent(first);
    return store_->intern_node({&frame, 1}, node) ? StepResult::kDone : StepResult::kStoreFull;
  }
  frame_count_ = 0;
  for (uint32_t l = pending.first_link; l != kNone; l = links_[l].next) {
    StackFrame frame = frame_of(l);
    frame.parent = stored_parent(links_[l]);
    const bool fits = links_[l].is_tail() ? inherit(frame, store_->frames(frame.parent)) : add_frame(frame);
    if (!fits) return StepResult::kTooComplex;
  }
  const FrameSpan frames = frames_.span(0, normalize(0, frame_count_));
  return store_->intern_node(frames, node) ? StepResult::kDone : StepResult::kStoreFull;
}

// Groups nodes that inherit each other's frames in a cycle.
bool PendingNodes::find_groups() {
  components_.clear();
  for (uint32_t p = 0; p < count_; ++p) {
    components_.add_vertex();
    for (uint32_t l = nodes_[p].first_link; l != kNone; l = links_[l].next) {
      const uint32_t source = links_[l].frame.parent;
      const bool passes = links_[l].is_tail() && is_pending(source);
      if (passes && !components_.add_edge(source - kPending)) return false;
    }
  }
  if (components_.edge_count() == 0) {
    group_count_ = count_;
    for (uint32_t p = 0; p < count_; ++p) {
      nodes_[p].group = p;
      groups_[p] = {nodes_[p].rule_start, 0, 0, kNone, p};
    }
    return true;
  }
  components_.find();
  group_count_ = components_.component_count();
  for (uint32_t group = 0; group < group_count_; ++group) groups_[group] = {kNone, 0, 0, kNone, 0};
  for (uint32_t p = 0; p < count_; ++p) {
    const uint32_t group = components_.component_of(p);
    nodes_[p].group = group;
    groups_[group].rule_start = std::min(groups_[group].rule_start, nodes_[p].rule_start);
  }
  // Sort the nodes by group, with a counting sort. The nodes of a group begin at the place Group::member.
  for (uint32_t p = 0; p < count_; ++p) ++groups_[nodes_[p].group].member;
  uint32_t end = 0;
  for (uint32_t group = 0; group < group_count_; ++group) end = groups_[group].member += end;
  for (uint32_t p = 0; p < count_; ++p) members_[--groups_[nodes_[p].group].member] = p;
  return true;
}

bool PendingNodes::add_frame(const StackFrame& frame) {
  if (frame_count_ == frame_capacity_) return false;
  frames_.set(frame_count_++, frame);
  return true;
}

bool PendingNodes::add_frames(FrameSpan frames) {
  if (frame_capacity_ - frame_count_ < frames.size() || !budget_->spend(frames.size())) return false;
  frames_.copy(frames, frame_count_);
  frame_count_ += static_cast<uint32_t>(frames.size());
  return true;
}

// Adds the frames that a tail call inherits: copies of them if they are few, and otherwise the tail call itself. Copies
// make equal stacks equal nodes, and keep right recursion in constant memory.
bool PendingNodes::inherit(const StackFrame& tail, FrameSpan frames) {
  constexpr uint32_t kFewFrames = 24;
  return frames.size() <= kFewFrames ? add_frames(frames) : add_frame(tail);
}

// Collects the frames of a group. The groups that it inherits frames from have lower numbers.
bool PendingNodes::collect_group(uint32_t group) {
  Group& g = groups_[group];
  g.first_frame = frame_count_;
  const bool is_plain = components_.edge_count() == 0;
  const uint32_t first = g.member;
  const uint32_t end = is_plain ? first + 1 : group + 1 == group_count_ ? count_ : groups_[group + 1].member;
  for (uint32_t m = first; m < end; ++m) {
    const uint32_t p = is_plain ? m : members_[m];
    for (uint32_t l = nodes_[p].first_link; l != kNone; l = links_[l].next) {
      const StackFrame frame = frame_of(l);
      bool fits = true;
      if (!links_[l].is_tail()) {
        fits = add_frame(frame);
      } else if (!is_pending(frame.parent)) {
        fits = inherit(frame, store_->frames(frame.parent));
      } else if (const uint32_t other = nodes_[frame.parent - kPending].group; other != group) {
        fits = inherit(frame, frames_.span(groups_[other].first_frame, groups_[other].frame_count));
      }
      if (!fits) return false;
    }
  }
  g.frame_count = normalize(g.first_frame, frame_count_ - g.first_frame);
  frame_count_ = g.first_frame + g.frame_count;
  return true;
}

// Sorts the frames and drops redundant ones. Returns the number of remaining frames.
uint32_t PendingNodes::normalize(uint32_t first, uint32_t count) {
  if (count < 2) return count;
  count = frames_.sort(first, count);
  return grammar_->counts().loops == 0 ? count : drop_dominated(first, count);
}

// Drops frames that allow less than another frame. Some frames differ only in the count of a loop. Of their counts with
// which the loop may end after this repetition, the lowest allows the most, and is kept. In a loop without a maximum,
// all such counts are equivalent, and the highest one is kept.
uint32_t PendingNodes::drop_dominated(uint32_t first, uint32_t count) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const StackFrame frame = frames_[first + i];
    if (frame.loop != kNoLoop && grammar_->loop(frame.loop).set == kNoSet && kept > 0) {
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

// Stores all groups, parents first. Groups in a cycle form a component and are stored together.
StepResult PendingNodes::store_groups() {
  // Parents are replaced by their groups only here, where every node has a group. From here on, frames can be compared.
  for (uint32_t group = 0; group < group_count_; ++group) {
    Group& g = groups_[group];
    bool changed = false;
    for (uint32_t i = 0; i < g.frame_count; ++i) {
      uint32_t& parent = frames_.parent(g.first_frame + i);
      if (!is_pending(parent)) continue;
      const uint32_t known = kPending | nodes_[parent - kPending].group;
      changed |= parent != known;
      parent = known;
    }
    if (changed) g.frame_count = normalize(g.first_frame, g.frame_count);
  }
  components_.clear();
  bool any = false;
  for (uint32_t group = 0; group < group_count_; ++group) {
    components_.add_vertex();
    const Group& g = groups_[group];
    for (uint32_t i = 0; i < g.frame_count; ++i) {
      const uint32_t parent = frames_[g.first_frame + i].parent;
      if (!is_pending(parent)) continue;
      any = true;
      if (!components_.add_edge(parent - kPending)) return StepResult::kTooComplex;
    }
  }
  if (!any) {
    for (uint32_t group = 0; group < group_count_; ++group) {
      SOTTO_TRY_STEP(store_single(group));
    }
    return StepResult::kDone;
  }
  components_.find();
  for (uint32_t i = 0; i < group_count_; ++i) members_[i] = i;
  // Sort by component, and within a component by rule, so that the same situation always gives the same component.
  std::sort(members_, members_ + group_count_, [&](uint32_t a, uint32_t b) {
    const uint32_t x = components_.component_of(a);
    const uint32_t y = components_.component_of(b);
    return x != y ? x < y : groups_[a].rule_start < groups_[b].rule_start;
  });
  for (uint32_t begin = 0; begin < group_count_;) {
    uint32_t end = begin + 1;
    const uint32_t component = components_.component_of(members_[begin]);
    while (end < group_count_ && components_.component_of(members_[end]) == component) ++end;
    SOTTO_TRY_STEP(store_component({members_ + begin, end - begin}));
    begin = end;
  }
  return StepResult::kDone;
}

StepResult PendingNodes::store_single(uint32_t group) {
  Group& g = groups_[group];
  const FrameSpan frames = frames_.span(g.first_frame, g.frame_count);
  return store_->intern_node(frames, &g.node) ? StepResult::kDone : StepResult::kStoreFull;
}

// Stores the groups of a component. Their parents outside the component have already been stored.
StepResult PendingNodes::store_component(std::span<const uint32_t> members) {
  for (uint32_t i = 0; i < members.size(); ++i) groups_[members[i]].member = i;
  bool is_cyclic = false;
  uint32_t frame_total = 0;
  for (const uint32_t member : members) {
    Group& g = groups_[member];
    bool changed = false;
    for (uint32_t i = 0; i < g.frame_count; ++i) {
      uint32_t& parent = frames_.parent(g.first_frame + i);
      if (!is_pending(parent)) continue;
      const Group& other = groups_[parent - kPending];
      const bool is_inside = other.node == kNone;
      const uint32_t known = is_inside ? kInternal | other.member : other.node;
      changed |= parent != known;
      parent = known;
      is_cyclic |= is_inside;
    }
    if (changed) g.frame_count = normalize(g.first_frame, g.frame_count);
    frame_total += g.frame_count;
  }
  if (!is_cyclic) return store_single(members[0]);
  uint32_t first = 0;
  if (!equals_known_component(members, &first)) {
    // Copy the frames of the members, in order, to the memory after the frames of all groups.
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

// Searches the parents for a stored component that is equivalent to this one. Equivalent means that the frames are
// equal if the stored nodes replace the members.
bool PendingNodes::equals_known_component(std::span<const uint32_t> members, uint32_t* first) {
  constexpr uint32_t kMaxMembers = 16;    // the limits bound the time of the search
  constexpr uint32_t kMaxCandidates = 4;  // number of components that are compared
  if (members.size() > kMaxMembers) return false;
  const Group& g = groups_[members[0]];
  uint32_t candidates = 0;
  uint32_t last = kNone;
  for (uint32_t i = g.frame_count; i > 0 && candidates < kMaxCandidates; --i) {
    const uint32_t parent = frames_[g.first_frame + i - 1].parent;
    if (parent >= kInternal) continue;
    const uint32_t known = store_->node(parent).component;
    const StackNode& node = store_->node(known);
    if (known == last || !node.is_cyclic || node.component_size != members.size()) continue;
    last = known;
    ++candidates;
    if (equals_below(members, known)) {
      *first = known;
      return true;
    }
  }
  return false;
}

// Returns whether the frames equal the frames of a known component once its nodes replace the members.
bool PendingNodes::equals_below(std::span<const uint32_t> members, uint32_t known) {
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
