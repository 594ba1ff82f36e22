// The stacks of the matcher, as a graph-structured stack (GSS), and the sets of states on top of them.
//
// A text that the grammar may read in several ways leaves the matcher with several stacks of open rules. Following
// Tomita (Efficient Parsing for Natural Language, 1986) and Scott and Johnstone (GLL Parsing, 2010), stacks share
// their parts: a StackNode is an open rule with everything below it, and each of its StackFrames says to which state
// the rule returns and on which parent node that state then stands. Unlike theirs, nodes carry no position in the
// text, so two texts that leave the same work open share a node.
//
// A State is a state of the grammar on top of a node. A StateSet is all States that one text may have led to; it says
// everything about what may follow. Nodes and sets are hash-consed: equal ones are stored once, so that equality of
// numbers is equality of contents and a set can serve as the state of a lazy automaton (lazy_automaton.h). Nodes that
// refer to each other, as left recursion makes them, form a strongly connected component and are interned together.
//
// All memory is reserved when the matcher is made. When it is full, collect() keeps what the given sets need, moves it
// together and renumbers it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/hash_index.h"
#include "runtime/base/status.h"
#include "runtime/grammar/compiler/compiled_grammar.h"
#include "runtime/grammar/matcher/matcher_limits.h"

namespace sotto {

// The return address of a rule: the state that follows when its text is complete.
struct StackFrame {
  uint32_t state;
  uint32_t parent;  // node under that state
  uint32_t loop = kNoLoop;
  uint32_t count = 0;  // number of repetitions of the loop before this one

  bool operator==(const StackFrame&) const = default;
};

// A frame outside all loops. Grammars without loops store frames of this form in half the memory.
struct PlainFrame {
  uint32_t state;
  uint32_t parent;

  bool operator==(const PlainFrame&) const = default;
};

inline bool frame_less(const StackFrame& a, const StackFrame& b) {
  if (a.parent != b.parent) return a.parent < b.parent;
  if (a.state != b.state) return a.state < b.state;
  if (a.loop != b.loop) return a.loop < b.loop;
  return a.count < b.count;
}

// A view of consecutive frames of either form.
class FrameSpan {
 public:
  class Iterator {
   public:
    Iterator(const FrameSpan& span, size_t index) : span_(&span), index_(index) {}
    StackFrame operator*() const { return (*span_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    const FrameSpan* span_;
    size_t index_;
  };

  FrameSpan(const StackFrame* frames, size_t size) : frames_(frames), size_(size) {}
  FrameSpan(const PlainFrame* frames, size_t size) : plain_(frames), size_(size) {}

  size_t size() const { return size_; }
  StackFrame operator[](size_t i) const {
    return plain_ == nullptr ? frames_[i] : StackFrame{plain_[i].state, plain_[i].parent};
  }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size_}; }

 private:
  const StackFrame* frames_ = nullptr;
  const PlainFrame* plain_ = nullptr;
  size_t size_;
};

class FrameArray {
 public:
  void layout(Arena& arena, uint32_t capacity, bool has_loops);

  FrameSpan span(uint32_t first, uint32_t count) const {
    return has_loops_ ? FrameSpan(frames_ + first, count) : FrameSpan(plain_ + first, count);
  }
  StackFrame operator[](uint32_t i) const {
    return has_loops_ ? frames_[i] : StackFrame{plain_[i].state, plain_[i].parent};
  }
  uint32_t& parent(uint32_t i) { return has_loops_ ? frames_[i].parent : plain_[i].parent; }
  void set(uint32_t i, const StackFrame& frame) {
    if (has_loops_) {
      frames_[i] = frame;
    } else {
      plain_[i] = {frame.state, frame.parent};
    }
  }
  void copy(FrameSpan from, uint32_t to);

  // Sorts a list by frame_less and drops duplicates. Returns the number of remaining frames.
  uint32_t sort(uint32_t first, uint32_t count);

 private:
  bool has_loops_ = false;
  StackFrame* frames_ = nullptr;
  PlainFrame* plain_ = nullptr;
};

struct StackNode {
  static constexpr uint16_t kMaxDepth = UINT16_MAX;

  uint32_t first;           // first frame; that of the next node is the end
  uint32_t component;       // first node of its strongly connected component
  uint32_t component_size;  // 0 unless this is the first node of the component
  // The longest path to the bottom of the stack, at most kMaxDepth; a component counts as one step.
  uint16_t depth;
  bool is_cyclic;  // whether its component refers to itself
  bool counts;     // whether this node or one below holds a loop's count
};

// A state of the grammar on top of a stack.
struct State {
  uint32_t state;
  uint32_t node;

  bool operator==(const State&) const = default;
};

inline bool state_less(const State& a, const State& b) {
  return a.node != b.node ? a.node < b.node : a.state < b.state;
}

struct StateSet {
  static constexpr uint8_t kUnknownClasses = 0xFF;
  static constexpr uint8_t kAccepts = 1;  // the text may end here

  uint32_t first;  // first state; that of the next set is the end
  uint32_t hash;
  uint32_t mask;  // number in the mask cache
  uint8_t flags;
  bool is_shared : 1;  // whether truncation has found other sets with the same mask
  bool was_used : 1;   // whether the mask was used since the set was made or the last collection
  bool counts_on : 1;  // whether the loop's next repetition changes only its count, unless that reaches a bound
  // The following are character classes (token_prefilter.h).
  uint8_t endless_classes;   // any text of these may follow; kUnknownClasses before it is computed
  uint8_t repeated_classes;  // any text of these leads back to this set
};

// Numbers below kFirstSet do not name a stored set.
inline constexpr uint32_t kNotComputed = 0;
inline constexpr uint32_t kDeadSet = 1;     // no text of the grammar begins with this text
inline constexpr uint32_t kUnknownSet = 2;  // the set depends on what truncation has cut off
inline constexpr uint32_t kFirstSet = 3;
inline constexpr uint32_t kMaxStateSets = MatcherParams::kMaxStateSetCount;
inline constexpr uint32_t kRootNode = 0;         // the node below the start rule
inline constexpr uint32_t kUnknownNode = 1;      // stands for the nodes that truncation has cut off
inline constexpr uint32_t kInternal = 1u << 31;  // marks a parent that is given by its index in the component being
                                                 // interned

class StackStore {
 public:
  void layout(Arena& arena, const CompiledGrammar& grammar, const MatcherParams& limits);
  // Takes the memory that only collect() needs.
  void layout_collection(Arena& arena, const MatcherParams& limits);
  void init(const CompiledGrammar& grammar);

  const StackNode& node(uint32_t index) const { return nodes_[index]; }
  FrameSpan frames(uint32_t node) const { return frames_.span(nodes_[node].first, frame_count(node)); }
  StateSet& state_set(uint32_t index) { return sets_[index]; }
  const StateSet& state_set(uint32_t index) const { return sets_[index]; }
  std::span<const State> states(uint32_t set) const {
    return {states_ + sets_[set].first, states_ + sets_[set + 1].first};
  }
  // Returns the remembered transition from a set by a byte or token of the class. The result is kNotComputed if the
  // transition has not been computed yet and some state of the set moves by that class.
  uint32_t next(uint32_t set, uint32_t symbol_class) const {
    const size_t cell = size_t{set} * class_count_ + symbol_class;
    return has_narrow_rows_ ? narrow_rows_[cell] : wide_rows_[cell];
  }
  void set_next(uint32_t set, uint32_t symbol_class, uint32_t next) {
    const size_t cell = size_t{set} * class_count_ + symbol_class;
    if (has_narrow_rows_) {
      narrow_rows_[cell] = static_cast<uint8_t>(next);
    } else {
      wide_rows_[cell] = static_cast<uint16_t>(next);
    }
  }
  uint32_t set_count() const { return set_count_; }
  uint32_t node_count() const { return node_count_; }
  uint32_t frame_count() const { return frame_count_; }

  // Finds or stores the node with these frames, which must be sorted by frame_less. Returns false if it does not fit.
  bool intern_node(FrameSpan frames, uint32_t* node);
  // Finds or stores a component in which node i has the frames from ends[i - 1] to ends[i]. Parents inside the
  // component are given as kInternal | i. The nodes get consecutive numbers, starting at `first`.
  bool intern_component(FrameSpan frames, std::span<const uint32_t> ends, uint32_t* first);
  // Finds or stores the set with these states, which must be sorted by state_less.
  bool intern_set(std::span<const State> states, uint8_t flags, uint32_t* set);

  // The sets that a collection keeps in addition to the pinned ones: those whose mask is shared, only those of them
  // whose mask was used since the last collection, or none.
  enum class Keep : uint8_t { kShared, kUsed, kNothing };
  // Drops everything that the pinned and kept sets do not need, and renumbers the pins in place.
  void collect(std::span<uint32_t> pins, Keep keep);
  // Returns whether a third of each array is free, so that the next collection is not needed immediately.
  bool is_roomy() const;

 private:
  uint32_t frame_count(uint32_t node) const { return nodes_[node + 1].first - nodes_[node].first; }
  bool component_equals(uint32_t first, FrameSpan frames, std::span<const uint32_t> ends) const;
  uint32_t hash_component(uint32_t first) const;
  void measure(uint32_t first);
  uint8_t repeated_classes(std::span<const State> states) const;
  void begin_row(uint32_t set);
  void mark(std::span<const uint32_t> pins, Keep keep);
  void mark_set(uint32_t set, uint32_t* stack_size);
  void mark_node(uint32_t node, uint32_t* stack_size);
  void move_nodes();
  void move_sets();
  void move_row(uint32_t set, uint32_t moved);
  void rebuild_indices();

  const CompiledGrammar* grammar_ = nullptr;
  MatcherParams limits_;
  uint32_t class_count_ = 0;
  StackNode* nodes_ = nullptr;  // all nodes, and one more whose first frame is the end of the frames
  FrameArray frames_;
  StateSet* sets_ = nullptr;  // all sets, and one more after the last
  State* states_ = nullptr;
  // Transitions by set and class, stored in bytes if all numbers of sets fit.
  bool has_narrow_rows_ = false;
  uint8_t* narrow_rows_ = nullptr;
  uint16_t* wide_rows_ = nullptr;
  HashIndex node_index_;  // index of the components by their first node
  HashIndex set_index_;
  uint32_t* new_nodes_ = nullptr;  // during a collection, the new numbers by node and by set
  uint16_t* new_sets_ = nullptr;
  uint32_t* stack_ = nullptr;
  uint32_t node_count_ = 0;
  uint32_t frame_count_ = 0;
  uint32_t set_count_ = 0;
  uint32_t state_count_ = 0;
};

}  // namespace sotto
