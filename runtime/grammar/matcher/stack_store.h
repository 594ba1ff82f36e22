// The matcher's contexts and configurations, each stored once. A context (node) is what may
// surround a rule's text: the graph-structured stack without positions. A configuration is
// where the text may stand: states in contexts.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/status.h"
#include "runtime/grammar/automata/slot_table.h"
#include "runtime/grammar/compiler/compiled_grammar.h"
#include "runtime/grammar/matcher/frames.h"
#include "runtime/grammar/matcher/matcher_limits.h"

namespace sotto {

struct StackNode {
  static constexpr uint16_t kMostDepth = UINT16_MAX;

  uint32_t first;           // frame; those up to the next node's are its own
  uint32_t component;       // first node of the strongly connected component
  uint32_t component_size;  // 0: not the first of it
  // Longest way to the outermost context, at most kMostDepth; a component counts once.
  uint16_t depth;
  bool is_cyclic;  // part of a component that refers to itself
  bool counts;     // a loop's count is in reach
};

struct State {
  uint32_t state;
  uint32_t node;

  bool operator==(const State&) const = default;
};

struct StateSet {
  static constexpr uint8_t kUnknownClasses = 0xFF;
  static constexpr uint8_t kAccepts = 1;  // the text may end here

  uint32_t first;  // top; those up to the next configuration's are its own
  uint32_t hash;
  uint32_t mask;  // of the mask cache
  uint8_t flags;
  bool is_shared : 1;        // its mask is that of many others
  bool was_used : 1;         // its mask, since it was made or the store was last cleaned
  bool counts_on : 1;        // a loop's next text changes its count alone, unless that is a bound
  uint8_t classes;           // texts of these characters, of any length, may follow; kUnknownClasses
  uint8_t repeated_classes;  // and these change nothing
};

inline constexpr uint32_t kNotComputed = 0;  // the first three are no configurations
inline constexpr uint32_t kDeadSet = 1;
inline constexpr uint32_t kUnknownSet = 2;  // left a context that was cut off
inline constexpr uint32_t kFirstSet = 3;
inline constexpr uint32_t kMaxStateSets = UINT16_MAX;
inline constexpr uint32_t kRootNode = 0;         // around the start rule
inline constexpr uint32_t kUnknownNode = 1;      // cut off
inline constexpr uint32_t kInternal = 1u << 31;  // a parent counted within its component

class StackStore {
 public:
  void lay_out(Arena& arena, const CompiledGrammar& grammar, const MatcherLimits& limits);
  // What only collect() needs.
  void lay_out_collection(Arena& arena, const MatcherLimits& limits);
  void init(const CompiledGrammar& grammar);

  const StackNode& node(uint32_t index) const { return nodes_[index]; }
  FrameSpan frames(uint32_t node) const { return frames_.span(nodes_[node].first, frame_count(node)); }
  StateSet& state_set(uint32_t index) { return sets_[index]; }
  const StateSet& state_set(uint32_t index) const { return sets_[index]; }
  std::span<const State> states(uint32_t set) const {
    return {states_ + sets_[set].first, states_ + sets_[set + 1].first};
  }
  // The configuration behind a byte or token of a class; kNotComputed: not found yet, but there
  // are moves by that class.
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

  // The node with these frames, sorted by frame_less. False: no room.
  bool intern_node(FrameSpan frames, uint32_t* node);
  // The nodes of a component whose members' frames are those between `ends`; parents inside
  // are kInternal | member. They get consecutive numbers from `first` on.
  bool intern_component(FrameSpan frames, std::span<const uint32_t> ends, uint32_t* first);
  // The configuration with these states, sorted.
  bool intern_set(std::span<const State> states, uint8_t flags, uint32_t* set);

  // Besides pinned configurations.
  enum class Keep : uint8_t { kShared, kUsed, kNothing };
  // Keeps what the pinned configurations need, and those that are shared or, of these, those
  // that were used; renumbers the pins in place.
  void collect(std::span<uint32_t> pins, Keep keep);
  // Enough room is left for a collection to be worth its time.
  bool is_roomy() const;

 private:
  uint32_t frame_count(uint32_t node) const { return nodes_[node + 1].first - nodes_[node].first; }
  bool component_equals(uint32_t first, FrameSpan frames, std::span<const uint32_t> ends) const;
  uint32_t hash_component(uint32_t first) const;
  void measure(uint32_t first);
  void mark(std::span<const uint32_t> pins, Keep keep);
  void mark_set(uint32_t set, uint32_t* stack_size);
  void mark_node(uint32_t node, uint32_t* stack_size);
  void move_nodes();
  void move_sets();
  uint8_t repeated_classes(std::span<const State> states) const;
  void begin_row(uint32_t set);
  void move_row(uint32_t set, uint32_t moved);
  void rebuild_slots();

  const CompiledGrammar* grammar_ = nullptr;
  MatcherLimits limits_;
  uint32_t class_count_ = 0;
  StackNode* nodes_ = nullptr;  // and one more behind the last, for its frames' end
  FrameArray frames_;
  StateSet* sets_ = nullptr;  // the same for states
  State* states_ = nullptr;
  // (set, class): the next configuration, in bytes if all their numbers fit
  bool has_narrow_rows_ = false;
  uint8_t* narrow_rows_ = nullptr;
  uint16_t* wide_rows_ = nullptr;
  SlotTable node_slots_;           // component's first node + 1 by hash
  SlotTable set_slots_;            // set by hash
  uint32_t* new_nodes_ = nullptr;  // while collecting: by node
  uint16_t* new_sets_ = nullptr;
  uint32_t* stack_ = nullptr;
  uint32_t node_count_ = 0;
  uint32_t frame_count_ = 0;
  uint32_t set_count_ = 0;
  uint32_t state_count_ = 0;
};

inline bool state_less(const State& a, const State& b) {
  return a.node != b.node ? a.node < b.node : a.state < b.state;
}

}  // namespace sotto
