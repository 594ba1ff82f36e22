// The stacks of the matcher, as a graph-structured stack (GSS), and the sets of states on top of them.
//
// If a grammar can read a text in several ways, the matcher has several stacks of open rules. The stacks share their
// common parts as in Tomita (Efficient Parsing for Natural Language, 1986) and Scott and Johnstone (GLL Parsing, 2010).
// A StackNode represents an open rule with everything below it. Each of its StackFrames is a return address: the
// caller's next state, and the parent node below that state. Unlike in those papers, a node does not record a position
// in the text: two prefixes with the same unfinished rules share a node.
//
// A StackTop is a state of the grammar on top of a node. A StateSet contains all stack tops that a text may have
// reached, so it determines everything that may follow. Nodes and sets are hash-consed: equal ones are stored once.
// Equal numbers therefore mean equal contents, and a set can be a state of a lazy automaton (lazy_automaton.h). Nodes
// that refer to each other, as with left recursion, form a strongly connected component and are interned together.
//
// Example: root ::= "[" (root ("," root)*)? "]" reads nested lists. After "[[", the inner list is a node with one
// frame: the outer list continues in the state before "," or "]". After "[[],[" and "[[[]],[" the same rules are open
// and return to the same state, so all three texts have the same node and the same state set.
//
// All memory is reserved when the matcher is created. The arrays of nodes, frames, sets and states share one block,
// because their proportions depend on the text. Whenever one of them is full, the block is divided again as in
// Garwick's algorithm (Knuth, The Art of Computer Programming, volume 1, section 2.2.2). When the block as a whole is
// full, collect() keeps only what the given sets need, and compacts and renumbers it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/hash_index.h"
#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/grammar/compiler/compiled_grammar.h"
#include "runtime/grammar/matcher/completions.h"
#include "runtime/grammar/matcher/frame_array.h"

namespace sotto {

// An open rule with everything below it on the stack.
struct StackNode {
  static constexpr uint16_t kMaxDepth = UINT16_MAX;

  uint32_t first;           // index of the first frame; the frames end at the next node's first frame
  uint32_t component;       // first node of its strongly connected component
  uint32_t component_size;  // 0 unless this is the first node of the component
  // Length of the longest path to the bottom of the stack, at most kMaxDepth. A component counts as one step.
  uint16_t depth;
  bool is_cyclic;         // true if its component contains a cycle
  bool has_counted_loop;  // true if a frame of this node, or of one below it, counts the repetitions of a loop
};

// A state of the grammar on top of a stack.
struct StackTop {
  uint32_t state;
  uint32_t node;

  bool operator==(const StackTop&) const = default;
};

inline bool stack_top_less(const StackTop& a, const StackTop& b) {
  return a.node != b.node ? a.node < b.node : a.state < b.state;
}

// All states that a text may have reached.
struct StateSet {
  static constexpr uint8_t kUnknownClasses = 0xFF;
  static constexpr uint8_t kAccepts = 1;  // the text may end here

  uint32_t first;  // index of the first state; the states end at the next set's first state
  uint32_t hash;
  uint32_t mask;  // number of its mask in the mask cache
  uint8_t flags;
  bool is_shared : 1;  // true for a truncated set that several sets use for their masks
  bool was_used : 1;   // true if its mask has been used since the set was made or the last collection
  // Set if another repetition changes only the loop count (below its bounds).
  bool repeats_by_count : 1;
  // Character classes (token_prefilter.h).
  uint8_t endless_classes;   // strings of any length over these may follow; kUnknownClasses until it is computed
  uint8_t repeated_classes;  // every string over these leads back to this set
};

// Ids of sets. Ids below kFirstSet do not refer to a stored set.
inline constexpr uint32_t kNotComputed = 0;
inline constexpr uint32_t kDeadSet = 1;     // the grammar does not allow the text
inline constexpr uint32_t kUnknownSet = 2;  // the set depends on the part of a stack that was truncated
inline constexpr uint32_t kFirstSet = 3;

// A slot with the id of a set in use. A collection updates it when it renumbers the sets.
struct Pin {
  uint32_t set;
};

// Divides an array of pins among the classes that use them. Their layout_pins() functions run twice, as layout() does
// for an Arena: first to count the pins, then to place them.
class PinArena {
 public:
  // Makes an arena that counts if `first` is null.
  explicit PinArena(Pin* first) : first_(first) {}
  Pin* take(uint32_t count) {
    const uint32_t begin = count_;
    count_ += count;
    return first_ == nullptr ? nullptr : first_ + begin;
  }
  uint32_t count() const { return count_; }

 private:
  Pin* first_;
  uint32_t count_ = 0;
};

inline constexpr uint32_t kRootNode = 0;     // the node below the start rule
inline constexpr uint32_t kUnknownNode = 1;  // stands for the part of a stack that was truncated
// Marks a parent in the component that is being interned. The other bits are its index there.
inline constexpr uint32_t kInternal = 1u << 31;

// With finish_within, per set: the number of tokens of its shortest completion, and the largest number needed after a
// token, or kNoCompletion if that has not been computed.
struct SetCompletion {
  uint32_t shortest;
  uint32_t max_after_token;
};

// Numbers of elements in the arrays of the store.
struct StoreCounts {
  uint32_t nodes = 0;
  uint32_t frames = 0;
  uint32_t sets = 0;
  uint32_t states = 0;
};

class StackStore {
 public:
  void layout(Arena& arena, const CompiledGrammar& grammar, const MatcherParams& limits);
  // Takes the memory that is used only by collect().
  void layout_collection(Arena& arena);
  // `completions` is null without finish_within.
  void init(const Completions* completions);

  const StackNode& node(uint32_t index) const { return nodes_[index]; }
  FrameSpan frames(uint32_t node) const { return frames_.span(nodes_[node].first, frame_count(node)); }
  StateSet& state_set(uint32_t index) { return sets_[index]; }
  const StateSet& state_set(uint32_t index) const { return sets_[index]; }
  std::span<const StackTop> states(uint32_t set) const {
    return {states_ + sets_[set].first, states_ + sets_[set + 1].first};
  }
  // Returns the stored transition from a set by a byte or token of the class. kNotComputed means that the transition
  // has not been computed yet, and that some state of the set moves by the class.
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
  // Returns the number of tokens of the shortest completion of a set, or 0 without finish_within.
  uint32_t completion(uint32_t set) const { return completions_ == nullptr ? 0 : set_completions_[set].shortest; }
  // Requires finish_within.
  uint32_t& max_after_token(uint32_t set) { return set_completions_[set].max_after_token; }
  uint32_t set_count() const { return counts_.sets; }
  const StoreCounts& counts() const { return counts_; }

  // Each function below may divide the block again, which moves the arrays but keeps the ids.

  // Finds or stores the node with these frames, which must be sorted by frame_less. Returns false if there is not
  // enough memory.
  bool intern_node(FrameSpan frames, uint32_t* node);
  // Finds or stores a component. Node i has the frames from ends[i - 1] to ends[i], in which a parent in the component
  // is given as kInternal | index. The nodes of the component get consecutive numbers from `first` on.
  bool intern_component(FrameSpan frames, std::span<const uint32_t> ends, uint32_t* first);
  // Finds or stores the set with these states, which must be sorted by stack_top_less.
  bool intern_set(std::span<const StackTop> states, uint8_t flags, uint32_t* set);

  // Sets that a collection keeps in addition to the pinned ones: all shared truncated sets, only those with a mask in
  // use since the last collection, or none.
  enum class Keep : uint8_t { kShared, kUsed, kNothing };
  // Drops everything that the pinned and the kept sets do not need, and renumbers the pins in place.
  void collect(std::span<Pin> pins, Keep keep);
  // Returns whether a third of the memory is free. Otherwise the next collection would be needed soon.
  bool has_third_free() const;

 private:
  void place(Arena& arena, const StoreCounts& counts);
  size_t size_of(const StoreCounts& counts) const;
  bool divide(const StoreCounts& wanted);
  void move_arrays(const StackStore& old);
  bool reserve(uint32_t nodes, uint32_t frames, uint32_t sets, uint32_t states);
  uint32_t frame_count(uint32_t node) const { return nodes_[node + 1].first - nodes_[node].first; }
  bool component_equals(uint32_t first, FrameSpan frames, std::span<const uint32_t> ends) const;
  uint32_t hash_component(uint32_t first) const;
  void measure(uint32_t first);
  void complete_nodes(uint32_t first);
  uint32_t completion_of(std::span<const StackTop> states, uint8_t flags) const;
  uint8_t repeated_classes(std::span<const StackTop> states) const;
  void begin_row(uint32_t set);
  void mark(std::span<const Pin> pins, Keep keep);
  void mark_set(uint32_t set, uint32_t* stack_size);
  void mark_node(uint32_t node, uint32_t* stack_size);
  void move_nodes();
  void move_sets();
  void move_row(uint32_t set, uint32_t moved);
  void rebuild_indices();

  const CompiledGrammar* grammar_ = nullptr;
  const Completions* completions_ = nullptr;
  StoreCounts estimate_;  // the division of the block before the first set is stored
  StoreCounts maximum_;   // for any division; the frames and states are limited only by the block
  StoreCounts capacity_;  // of the present division
  StoreCounts counts_;
  uint32_t class_count_ = 0;
  bool completes_ = false;        // true with finish_within
  bool has_narrow_rows_ = false;  // true if all numbers of sets fit in bytes
  size_t block_size_ = 0;
  uint8_t* block_ = nullptr;    // contains the arrays and indices below
  StackNode* nodes_ = nullptr;  // all nodes, followed by one whose first frame is the end of all frames
  FrameArray frames_;
  StateSet* sets_ = nullptr;  // all sets, followed by one that marks the end
  StackTop* states_ = nullptr;
  uint8_t* narrow_rows_ = nullptr;  // transitions by set and class, in bytes or in wide_rows_
  uint16_t* wide_rows_ = nullptr;
  HashIndex node_index_;  // index of the components, by their first nodes
  HashIndex set_index_;
  // With finish_within: for each node, the number of tokens from the end of its rule to the end of the text; for each
  // set, its SetCompletion.
  uint32_t* node_completions_ = nullptr;
  SetCompletion* set_completions_ = nullptr;
  uint32_t* new_nodes_ = nullptr;  // during a collection, the new numbers of nodes and sets
  uint16_t* new_sets_ = nullptr;
  uint32_t* stack_ = nullptr;
};

}  // namespace sotto
