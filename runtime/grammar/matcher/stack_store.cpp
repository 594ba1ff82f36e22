#include "runtime/grammar/matcher/stack_store.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <type_traits>

namespace sotto {
namespace {

constexpr uint32_t kUnset = UINT32_MAX;
constexpr uint16_t kNoNewSet = UINT16_MAX;

uint64_t hash_frame(uint64_t hash, const StackFrame& frame, uint32_t parent) {
  hash = mix_hash(hash, uint64_t{frame.state} << 32 | parent);
  return mix_hash(hash, uint64_t{frame.loop} << 32 ^ frame.count);
}

uint32_t hash_states(std::span<const StackTop> states, uint8_t flags) {
  uint64_t hash = flags;
  for (const StackTop& top : states) hash = mix_hash(hash, uint64_t{top.state} << 32 | top.node);
  return static_cast<uint32_t>(hash >> 16);
}

// Returns a parent as intern_component() expects it: a node of the component by its index there.
uint32_t relative(uint32_t parent, uint32_t first, uint32_t size) {
  return parent >= first && parent - first < size ? kInternal | (parent - first) : parent;
}

}  // namespace

void StackStore::layout(Arena& arena, const CompiledGrammar& grammar, const MatcherParams& limits) {
  limits_ = limits;
  class_count_ = grammar.class_count();
  nodes_ = arena.take<StackNode>(size_t{limits.node_count} + 1);
  frames_.layout(arena, limits.frame_count, grammar);
  sets_ = arena.take<StateSet>(size_t{limits.state_set_count} + 1);
  states_ = arena.take<StackTop>(limits.state_count);
  has_narrow_rows_ = limits.state_set_count <= UINT8_MAX + 1u;
  const size_t cells = size_t{limits.state_set_count} * class_count_;
  narrow_rows_ = arena.take<uint8_t>(has_narrow_rows_ ? cells : 0);
  wide_rows_ = arena.take<uint16_t>(has_narrow_rows_ ? 0 : cells);
  node_index_.layout(arena, limits.node_count);
  set_index_.layout(arena, limits.state_set_count);
  const bool completes = limits.finish_within != 0;
  node_completions_ = arena.take<uint32_t>(completes ? limits.node_count : 0);
  set_completions_ = arena.take<SetCompletion>(completes ? limits.state_set_count : 0);
}

void StackStore::layout_collection(Arena& arena, const MatcherParams& limits) {
  new_nodes_ = arena.take<uint32_t>(limits.node_count);
  new_sets_ = arena.take<uint16_t>(limits.state_set_count);
  stack_ = arena.take<uint32_t>(limits.node_count);
}

void StackStore::init(const CompiledGrammar& grammar, const Completions* completions) {
  grammar_ = &grammar;
  completions_ = completions;
  node_index_.clear();
  set_index_.clear();
  nodes_[0].first = 0;
  node_count_ = frame_count_ = state_count_ = 0;
  set_count_ = kFirstSet;
  uint32_t node = 0;
  for (const uint32_t state : {kAcceptState, kUnknownState}) {
    const StackFrame outermost{state, 0};
    [[maybe_unused]] const bool fits = intern_node({&outermost, 1}, &node);
    assert(fits);
    nodes_[node].depth = 0;
    nodes_[node].is_cyclic = false;
    if (completions_ != nullptr) node_completions_[node] = 0;
  }
  if (completions_ != nullptr) std::fill_n(set_completions_, kFirstSet, SetCompletion{0, kNoCompletion});
  for (uint32_t set = 0; set <= kFirstSet; ++set) sets_[set] = {};
}

// Returns whether the stored component at `first` has these frames. `ends` holds the end of each member in `frames`.
bool StackStore::component_equals(uint32_t first, FrameSpan frames, std::span<const uint32_t> ends) const {
  const auto size = static_cast<uint32_t>(ends.size());
  if (nodes_[first].component_size != size) return false;
  uint32_t begin = 0;
  for (uint32_t member = 0; member < size; ++member) {
    const StackNode& known = nodes_[first + member];
    const uint32_t count = frame_count(first + member);
    if (count != ends[member] - begin) return false;
    for (uint32_t i = 0; i < count; ++i) {
      StackFrame frame = frames_[known.first + i];
      if (known.is_cyclic) frame.parent = relative(frame.parent, first, size);
      if (!(frame == frames[begin + i])) return false;
    }
    begin = ends[member];
  }
  return true;
}

uint32_t StackStore::hash_component(uint32_t first) const {
  const uint32_t size = nodes_[first].component_size;
  uint64_t hash = size;
  for (uint32_t member = 0; member < size; ++member) {
    const bool is_cyclic = nodes_[first + member].is_cyclic;
    for (const StackFrame frame : frames(first + member)) {
      const uint32_t parent = is_cyclic ? relative(frame.parent, first, size) : frame.parent;
      hash = hash_frame(hash, frame, parent);
    }
    hash = mix_hash(hash, member);
  }
  return static_cast<uint32_t>(hash >> 16);
}

bool StackStore::intern_node(FrameSpan frames, uint32_t* node) {
  const auto end = static_cast<uint32_t>(frames.size());
  return intern_component(frames, {&end, 1}, node);
}

bool StackStore::intern_component(FrameSpan frames, std::span<const uint32_t> ends, uint32_t* first) {
  const auto size = static_cast<uint32_t>(ends.size());
  uint64_t hash = size;
  uint32_t begin = 0;
  bool is_cyclic = false;
  for (uint32_t member = 0; member < size; ++member) {
    for (; begin < ends[member]; ++begin) {
      const StackFrame frame = frames[begin];
      hash = hash_frame(hash, frame, frame.parent);
      is_cyclic |= frame.parent >= kInternal;
    }
    hash = mix_hash(hash, member);
  }
  const auto index_hash = static_cast<uint32_t>(hash >> 16);
  const uint32_t known =
      node_index_.find(index_hash, [&](uint32_t candidate) { return component_equals(candidate, frames, ends); });
  if (known != HashIndex::kAbsent) {
    *first = known;
    return true;
  }
  if (limits_.node_count - node_count_ < size || limits_.frame_count - frame_count_ < frames.size()) {
    return false;
  }
  *first = node_count_;
  begin = 0;
  for (uint32_t member = 0; member < size; ++member) {
    nodes_[node_count_++] = {frame_count_, *first, member == 0 ? size : 0, 0, is_cyclic, false};
    for (; begin < ends[member]; ++begin) {
      StackFrame frame = frames[begin];
      if (frame.parent >= kInternal) frame.parent = *first + (frame.parent - kInternal);
      frames_.set(frame_count_++, frame);
    }
    nodes_[node_count_].first = frame_count_;
  }
  node_index_.insert(index_hash, *first);
  measure(*first);
  if (completions_ != nullptr) complete_nodes(*first);
  return true;
}

void StackStore::measure(uint32_t first) {
  const uint32_t size = nodes_[first].component_size;
  uint16_t depth = 0;
  bool has_counted_loop = false;
  for (uint32_t member = first; member < first + size; ++member) {
    for (const StackFrame frame : frames(member)) {
      has_counted_loop |= frame.loop != kNoLoop;
      if (frame.parent >= first && frame.parent - first < size) continue;
      has_counted_loop |= nodes_[frame.parent].has_counted_loop;
      depth = std::max(depth, nodes_[frame.parent].depth);
    }
  }
  for (uint32_t member = first; member < first + size; ++member) {
    nodes_[member].depth = depth == StackNode::kMaxDepth ? depth : static_cast<uint16_t>(depth + 1);
    nodes_[member].has_counted_loop = has_counted_loop;
  }
}

// Computes the completions of a component. Its nodes may refer to each other, so the values are decreased until nothing
// changes (Bellman 1958).
void StackStore::complete_nodes(uint32_t first) {
  const uint32_t end = first + nodes_[first].component_size;
  std::fill(node_completions_ + first, node_completions_ + end, kNoCompletion);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t node = first; node < end; ++node) {
      for (const StackFrame frame : frames(node)) {
        const uint32_t after = frame.is_tail() ? 0 : completions_->after_call(frame.state, frame.loop, frame.count);
        const uint32_t tokens = add_completions(after, node_completions_[frame.parent]);
        if (tokens >= node_completions_[node]) continue;
        node_completions_[node] = tokens;
        changed = end - first > 1;
      }
    }
  }
}

// Returns the shortest completion of the states. A state that may end its rule counts only for longer strings, because
// the set also contains the states after the rule.
uint32_t StackStore::completion_of(std::span<const StackTop> states, uint8_t flags) const {
  if ((flags & StateSet::kAccepts) != 0) return 0;
  uint32_t shortest = kNoCompletion;
  for (const StackTop& top : states) {
    const uint32_t tokens = add_completions(completions_->completion_of(top.state), node_completions_[top.node]);
    shortest = std::min(shortest, tokens);
  }
  return shortest;
}

bool StackStore::intern_set(std::span<const StackTop> states, uint8_t flags, uint32_t* set) {
  if (states.empty() && flags == 0) {
    *set = kDeadSet;
    return true;
  }
  const uint32_t hash = hash_states(states, flags);
  const uint32_t known = set_index_.find(hash, [&](uint32_t candidate) {
    if (sets_[candidate].hash != hash || sets_[candidate].flags != flags) return false;
    const auto other = this->states(candidate);
    return std::equal(states.begin(), states.end(), other.begin(), other.end());
  });
  if (known != HashIndex::kAbsent) {
    *set = known;
    return true;
  }
  if (set_count_ == limits_.state_set_count || limits_.state_count - state_count_ < states.size()) {
    return false;
  }
  *set = set_count_++;
  const uint8_t repeated = flags == 0 ? repeated_classes(states) : uint8_t{0};
  sets_[*set] = {state_count_, hash, 0, flags, false, false, false, StateSet::kUnknownClasses, repeated};
  if (completions_ != nullptr) set_completions_[*set] = {completion_of(states, flags), kNoCompletion};
  std::copy(states.begin(), states.end(), states_ + state_count_);
  state_count_ += static_cast<uint32_t>(states.size());
  sets_[set_count_].first = state_count_;
  begin_row(*set);
  set_index_.insert(hash, *set);
  return true;
}

// Recognizes a repeating state (GrammarState::kRepeats) in its two forms: alone, or together with the start of its
// called rule, if that rule returns nowhere else. Returns the endless classes of the state, or 0.
uint8_t StackStore::repeated_classes(std::span<const StackTop> states) const {
  if (states.size() > 2) return 0;
  for (const StackTop& top : states) {
    const GrammarState& state = grammar_->state(top.state);
    if ((state.flags & GrammarState::kRepeats) == 0) continue;
    const auto calls = grammar_->calls(top.state);
    if (states.size() == 1) return calls.empty() ? state.endless_classes : uint8_t{0};
    const StackTop& other = states[&top == states.data() ? 1 : 0];
    const StackFrame back{top.state, top.node};
    const auto called_by = frames(other.node);
    const bool is_called = !calls.empty() && calls[0].rule_start == other.state;
    if (is_called && called_by.size() == 1 && called_by[0] == back) return state.endless_classes;
  }
  return 0;
}

// Marks a class as dead if no state of the set moves by it.
void StackStore::begin_row(uint32_t set) {
  const auto begin = [&](auto* rows) {
    using Cell = std::remove_pointer_t<decltype(rows)>;
    Cell* row = rows + size_t{set} * class_count_;
    std::fill_n(row, class_count_, static_cast<Cell>(kDeadSet));
    for (const StackTop& top : states(set)) {
      for (const GrammarMove& move : grammar_->moves(top.state)) {
        row[move.symbol_class] = static_cast<Cell>(kNotComputed);
      }
    }
  };
  if (has_narrow_rows_) {
    begin(narrow_rows_);
  } else {
    begin(wide_rows_);
  }
}

void StackStore::mark_node(uint32_t node, uint32_t* stack_size) {
  const uint32_t first = nodes_[node].component;
  if (new_nodes_[first] != kUnset) return;
  new_nodes_[first] = 0;
  stack_[(*stack_size)++] = first;
}

void StackStore::mark_set(uint32_t set, uint32_t* stack_size) {
  if (set < kFirstSet || new_sets_[set] != kNoNewSet) return;
  new_sets_[set] = 0;
  for (const StackTop& top : states(set)) mark_node(top.node, stack_size);
}

// Marks the sets to keep, and the nodes that can be reached from them.
void StackStore::mark(std::span<const Pin> pins, Keep keep) {
  std::memset(new_sets_, 0xFF, set_count_ * sizeof *new_sets_);
  std::memset(new_nodes_, 0xFF, node_count_ * sizeof *new_nodes_);
  uint32_t stack_size = 0;
  mark_node(kRootNode, &stack_size);
  mark_node(kUnknownNode, &stack_size);
  for (const Pin& pin : pins) mark_set(pin.set, &stack_size);
  for (uint32_t i = kFirstSet; keep != Keep::kNothing && i < set_count_; ++i) {
    const bool is_kept = sets_[i].was_used || keep == Keep::kShared;
    if (sets_[i].is_shared && is_kept) mark_set(i, &stack_size);
  }

  while (stack_size > 0) {
    const uint32_t first = stack_[--stack_size];
    for (uint32_t i = 0; i < nodes_[first].component_size; ++i) {
      for (const StackFrame frame : frames(first + i)) mark_node(frame.parent, &stack_size);
    }
  }
}

// Moves the kept nodes together. A component is contiguous and refers only to itself and to nodes before it, so a
// single pass in order suffices.
void StackStore::move_nodes() {
  uint32_t kept = 0;
  uint32_t kept_frames = 0;
  for (uint32_t first = 0; first < node_count_;) {
    const uint32_t size = nodes_[first].component_size;
    if (new_nodes_[first] != kUnset) {
      for (uint32_t i = 0; i < size; ++i) new_nodes_[first + i] = kept + i;
      const uint32_t new_first = kept;
      for (uint32_t i = 0; i < size; ++i) {
        StackNode node = nodes_[first + i];
        const FrameSpan moving = frames(first + i);
        node.first = kept_frames;
        node.component = new_first;
        for (StackFrame frame : moving) {
          frame.parent = new_nodes_[frame.parent];
          frames_.set(kept_frames++, frame);
        }
        if (completions_ != nullptr) node_completions_[kept] = node_completions_[first + i];
        nodes_[kept++] = node;
      }
    }
    first += size;
  }
  node_count_ = kept;
  frame_count_ = nodes_[kept].first = kept_frames;
}

// Moves the kept sets together. All sets are numbered before the first one is moved, because their rows refer to each
// other.
void StackStore::move_sets() {
  uint32_t kept = kFirstSet;
  for (uint32_t set = kFirstSet; set < set_count_; ++set) {
    if (new_sets_[set] == kNoNewSet) continue;
    new_sets_[set] = static_cast<uint16_t>(kept++);
  }
  uint32_t kept_states = 0;
  for (uint32_t set = kFirstSet; set < set_count_; ++set) {
    const uint16_t moved = new_sets_[set];
    if (moved == kNoNewSet) continue;
    StateSet copy = sets_[set];
    const auto moving = states(set);
    copy.first = kept_states;
    for (const StackTop& top : moving) states_[kept_states++] = {top.state, new_nodes_[top.node]};
    move_row(set, moved);
    if (completions_ != nullptr) set_completions_[moved] = set_completions_[set];
    sets_[moved] = copy;
  }
  set_count_ = kept;
  state_count_ = sets_[kept].first = kept_states;
}

void StackStore::move_row(uint32_t set, uint32_t moved) {
  for (uint32_t c = 0; c < class_count_; ++c) {
    const uint32_t old = next(set, c);
    const uint32_t kept = old < kFirstSet ? old : new_sets_[old];
    set_next(moved, c, kept == kNoNewSet ? kNotComputed : kept);
  }
}

void StackStore::rebuild_indices() {
  node_index_.clear();
  set_index_.clear();
  for (uint32_t first = 0; first < node_count_; first += nodes_[first].component_size) {
    node_index_.insert(hash_component(first), first);
  }
  for (uint32_t set = kFirstSet; set < set_count_; ++set) {
    sets_[set].hash = hash_states(states(set), sets_[set].flags);
    set_index_.insert(sets_[set].hash, set);
  }
}

bool StackStore::has_third_free() const {
  const auto fits = [](uint32_t count, uint32_t limit) { return count <= limit - limit / 3; };
  return fits(set_count_, limits_.state_set_count) && fits(node_count_, limits_.node_count) &&
         fits(frame_count_, limits_.frame_count) && fits(state_count_, limits_.state_count);
}

void StackStore::collect(std::span<Pin> pins, Keep keep) {
  mark(pins, keep);
  move_nodes();
  move_sets();
  rebuild_indices();
  for (Pin& pin : pins) {
    if (pin.set >= kFirstSet) pin.set = new_sets_[pin.set];
  }
  if (keep == Keep::kShared) return;
  for (uint32_t i = kFirstSet; i < set_count_; ++i) sets_[i].was_used = false;
}

}  // namespace sotto
