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
  // A collection needs memory for the new numbers of all nodes and sets. The bound keeps this memory small. It shares
  // its place with that of a step.
  constexpr uint64_t kMaxGrowth = 4;
  const auto grown = [](uint32_t count, uint32_t maximum) {
    return static_cast<uint32_t>(std::min<uint64_t>(count * kMaxGrowth, maximum));
  };
  grammar_ = &grammar;
  class_count_ = grammar.class_count();
  completes_ = limits.finish_within != 0;
  has_narrow_rows_ = limits.state_set_count <= UINT8_MAX + 1u;
  estimate_ = {limits.node_count, limits.frame_count, limits.state_set_count, limits.state_count};
  maximum_ = {grown(limits.node_count, MatcherParams::kMaxNodeCount), UINT32_MAX,
              grown(limits.state_set_count, has_narrow_rows_ ? UINT8_MAX + 1u : MatcherParams::kMaxStateSetCount),
              UINT32_MAX};
  block_size_ = size_of(estimate_);
  block_ = arena.take<uint8_t>(block_size_);
}

void StackStore::layout_collection(Arena& arena) {
  new_nodes_ = arena.take<uint32_t>(maximum_.nodes);
  new_sets_ = arena.take<uint16_t>(maximum_.sets);
  stack_ = arena.take<uint32_t>(maximum_.nodes);
}

// Divides the block, so that there is memory for these numbers of elements.
void StackStore::place(Arena& arena, const StoreCounts& counts) {
  const size_t cells = size_t{counts.sets} * class_count_;
  nodes_ = arena.take<StackNode>(size_t{counts.nodes} + 1);
  frames_.layout(arena, counts.frames, *grammar_);
  sets_ = arena.take<StateSet>(size_t{counts.sets} + 1);
  states_ = arena.take<StackTop>(counts.states);
  narrow_rows_ = arena.take<uint8_t>(has_narrow_rows_ ? cells : 0);
  wide_rows_ = arena.take<uint16_t>(has_narrow_rows_ ? 0 : cells);
  node_completions_ = arena.take<uint32_t>(completes_ ? counts.nodes : 0);
  set_completions_ = arena.take<SetCompletion>(completes_ ? counts.sets : 0);
  node_index_.layout(arena, counts.nodes);
  set_index_.layout(arena, counts.sets);
  capacity_ = counts;
}

// Returns the size of a block for these numbers of elements, or SIZE_MAX.
size_t StackStore::size_of(const StoreCounts& counts) const {
  StackStore copy = *this;
  Arena measure;
  copy.place(measure, counts);
  return measure.overflowed() ? SIZE_MAX : measure.size();
}

// Divides the block again. Each array gets memory for what is wanted, and a part of the rest in proportion to what is
// wanted and what was estimated. Returns false if too little would remain, because dividing would soon be needed again.
bool StackStore::divide(const StoreCounts& wanted) {
  constexpr uint64_t kParts = 1024;
  constexpr uint64_t kMinParts = 32;
  const auto with_rest = [&](uint64_t parts) {
    const auto grown = [&](uint32_t count, uint32_t estimate, uint32_t maximum) {
      const uint64_t more = (uint64_t{count} + estimate) * parts / kParts;
      return static_cast<uint32_t>(std::min<uint64_t>(count + more, maximum));
    };
    return StoreCounts{
        grown(wanted.nodes, estimate_.nodes, maximum_.nodes), grown(wanted.frames, estimate_.frames, maximum_.frames),
        grown(wanted.sets, estimate_.sets, maximum_.sets), grown(wanted.states, estimate_.states, maximum_.states)};
  };
  if (wanted.nodes > maximum_.nodes || wanted.sets > maximum_.sets) return false;
  if (size_of(with_rest(kMinParts)) > block_size_) return false;
  uint64_t parts = kMinParts;
  for (uint64_t step = kParts / 2; step > 0; step /= 2) {
    if (size_of(with_rest(parts + step)) <= block_size_) parts += step;
  }
  const StackStore old = *this;
  Arena arena(block_);
  place(arena, with_rest(parts));
  move_arrays(old);
  rebuild_indices();
  return true;
}

// Moves the contents of the arrays from their places in `old`. Arrays that move towards the beginning of the block are
// moved in order, and then the others in reverse order. None is thus overwritten before it has been moved.
void StackStore::move_arrays(const StackStore& old) {
  struct Move {
    void* to;
    const void* from;
    size_t size;
  };
  const auto move = [](auto* to, const auto* from, size_t count) { return Move{to, from, count * sizeof *to}; };
  const FrameColumns& to = frames_.columns();
  const FrameColumns& from = old.frames_.columns();
  const size_t cells = size_t{counts_.sets} * class_count_;
  // In the order of place().
  const Move moves[] = {
      move(nodes_, old.nodes_, size_t{counts_.nodes} + 1),
      move(to.plain, from.plain, counts_.frames),
      move(to.counts.counts, from.counts.counts, to.counts.counts == nullptr ? 0 : counts_.frames),
      move(to.counts.high, from.counts.high, to.counts.high == nullptr ? 0 : counts_.frames),
      move(sets_, old.sets_, size_t{counts_.sets} + 1),
      move(states_, old.states_, counts_.states),
      move(narrow_rows_, old.narrow_rows_, has_narrow_rows_ ? cells : 0),
      move(wide_rows_, old.wide_rows_, has_narrow_rows_ ? 0 : cells),
      move(node_completions_, old.node_completions_, completes_ ? counts_.nodes : 0),
      move(set_completions_, old.set_completions_, completes_ ? counts_.sets : 0),
  };
  for (const Move& m : moves) {
    if (m.size != 0 && m.to < m.from) std::memmove(m.to, m.from, m.size);
  }
  for (size_t i = std::size(moves); i-- > 0;) {
    if (moves[i].size != 0 && moves[i].to > moves[i].from) std::memmove(moves[i].to, moves[i].from, moves[i].size);
  }
}

// Returns whether there is memory for these numbers of additional elements.
bool StackStore::reserve(uint32_t nodes, uint32_t frames, uint32_t sets, uint32_t states) {
  const bool fits = capacity_.nodes - counts_.nodes >= nodes && capacity_.frames - counts_.frames >= frames &&
                    capacity_.sets - counts_.sets >= sets && capacity_.states - counts_.states >= states;
  if (fits) return true;
  return divide({counts_.nodes + nodes, counts_.frames + frames, counts_.sets + sets, counts_.states + states});
}

void StackStore::init(const Completions* completions) {
  completions_ = completions;
  Arena arena(block_);
  place(arena, estimate_);
  node_index_.clear();
  set_index_.clear();
  nodes_[0].first = 0;
  counts_ = {};
  counts_.sets = kFirstSet;
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
  if (!reserve(size, static_cast<uint32_t>(frames.size()), 0, 0)) return false;
  *first = counts_.nodes;
  begin = 0;
  for (uint32_t member = 0; member < size; ++member) {
    nodes_[counts_.nodes++] = {counts_.frames, *first, member == 0 ? size : 0, 0, is_cyclic, false};
    for (; begin < ends[member]; ++begin) {
      StackFrame frame = frames[begin];
      if (frame.parent >= kInternal) frame.parent = *first + (frame.parent - kInternal);
      frames_.set(counts_.frames++, frame);
    }
    nodes_[counts_.nodes].first = counts_.frames;
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
  if (!reserve(0, 0, 1, static_cast<uint32_t>(states.size()))) return false;
  *set = counts_.sets++;
  const uint8_t repeated = flags == 0 ? repeated_classes(states) : uint8_t{0};
  sets_[*set] = {counts_.states, hash, 0, flags, false, false, false, StateSet::kUnknownClasses, repeated};
  if (completions_ != nullptr) set_completions_[*set] = {completion_of(states, flags), kNoCompletion};
  std::copy(states.begin(), states.end(), states_ + counts_.states);
  counts_.states += static_cast<uint32_t>(states.size());
  sets_[counts_.sets].first = counts_.states;
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
  std::memset(new_sets_, 0xFF, counts_.sets * sizeof *new_sets_);
  std::memset(new_nodes_, 0xFF, counts_.nodes * sizeof *new_nodes_);
  uint32_t stack_size = 0;
  mark_node(kRootNode, &stack_size);
  mark_node(kUnknownNode, &stack_size);
  for (const Pin& pin : pins) mark_set(pin.set, &stack_size);
  for (uint32_t i = kFirstSet; keep != Keep::kNothing && i < counts_.sets; ++i) {
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
  for (uint32_t first = 0; first < counts_.nodes;) {
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
  counts_.nodes = kept;
  counts_.frames = nodes_[kept].first = kept_frames;
}

// Moves the kept sets together. All sets are numbered before the first one is moved, because their rows refer to each
// other.
void StackStore::move_sets() {
  uint32_t kept = kFirstSet;
  for (uint32_t set = kFirstSet; set < counts_.sets; ++set) {
    if (new_sets_[set] == kNoNewSet) continue;
    new_sets_[set] = static_cast<uint16_t>(kept++);
  }
  uint32_t kept_states = 0;
  for (uint32_t set = kFirstSet; set < counts_.sets; ++set) {
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
  counts_.sets = kept;
  counts_.states = sets_[kept].first = kept_states;
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
  for (uint32_t first = 0; first < counts_.nodes; first += nodes_[first].component_size) {
    node_index_.insert(hash_component(first), first);
  }
  for (uint32_t set = kFirstSet; set < counts_.sets; ++set) {
    sets_[set].hash = hash_states(states(set), sets_[set].flags);
    set_index_.insert(sets_[set].hash, set);
  }
}

bool StackStore::has_third_free() const {
  const auto fits = [](size_t count, size_t limit) { return count <= limit - limit / 3; };
  return fits(counts_.sets, maximum_.sets) && fits(counts_.nodes, maximum_.nodes) &&
         fits(size_of(counts_), block_size_);
}

void StackStore::collect(std::span<Pin> pins, Keep keep) {
  mark(pins, keep);
  move_nodes();
  move_sets();
  if (!divide(counts_)) rebuild_indices();
  for (Pin& pin : pins) {
    if (pin.set >= kFirstSet) pin.set = new_sets_[pin.set];
  }
  if (keep == Keep::kShared) return;
  for (uint32_t i = kFirstSet; i < counts_.sets; ++i) sets_[i].was_used = false;
}

}  // namespace sotto
