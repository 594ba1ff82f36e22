// The stack nodes that a step of the matcher creates, before they are stored.
//
// A rule that is called in a step gets one pending node, even if many states call it; each call adds a frame to the
// node. A pending node may turn out to be equal to a stored one. Pending nodes may also refer to each other in any
// order: a rule that calls itself first (left recursion) is its own parent. Nodes are therefore collected while the
// step runs, and store() stores them together at its end:
//   1. Usually every pending node refers only to earlier ones. Then they are stored one by one.
//   2. Otherwise, tail links and parent links form two graphs. A tail link leads to the node that lends its frames, a
//      parent link to the node below a frame. Nodes on a cycle of tail links inherit the same frames, so they form one
//      group.
//   3. Groups on a cycle of parent links form one component of the stack store. If an equivalent component is already
//      stored below it, that one is used instead. Repeated left or right recursion of a rule then does not add a node
//      with every repetition.
// Groups and components are strongly connected components; Tarjan's algorithm finds them (automata/components.h).
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/grammar/automata/components.h"
#include "runtime/grammar/compiler/compiled_grammar.h"
#include "runtime/grammar/matcher/frame_array.h"
#include "runtime/grammar/matcher/stack_store.h"
#include "runtime/grammar/matcher/step.h"

namespace sotto {

class PendingNodes {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  void layout(Arena& arena, const CompiledGrammar& grammar, const MatcherParams& limits);
  void init(const CompiledGrammar& grammar, StackStore& store, StepBudget& budget);

  // In a StackTop, pending node i is represented by `kPending | i`.
  static constexpr uint32_t kPending = kInternal;
  static bool is_pending(uint32_t node) { return (node & kPending) != 0; }

  void clear() { count_ = link_count_ = first_new_ = 0; }
  // Begins the next byte of a text. Existing nodes stay but are no longer new.
  void begin_byte() { first_new_ = count_; }
  bool is_new(uint32_t node) const { return is_pending(node) && node - kPending >= first_new_; }
  uint32_t link_count() const { return link_count_; }
  bool is_half_free() const { return 2 * count_ <= capacity_ && 2 * link_count_ <= link_capacity_; }

  // Creates a node without frames for a rule. Returns its index, or kNone if there is not enough memory.
  uint32_t add(uint32_t rule_start) {
    if (count_ == capacity_) return kNone;
    nodes_[count_] = {rule_start, kNone, 0, 0};
    return count_++;
  }
  // Adds a frame to a pending node. Returns false if there is not enough memory.
  bool link(uint32_t index, const StackFrame& frame) {
    if (link_count_ == link_capacity_ || index >= count_) return false;
    links_[link_count_] = {{frame.state, frame.parent}, nodes_[index].first_link};
    link_counts_.set(link_count_, frame);
    nodes_[index].first_link = link_count_++;
    return true;
  }
  // Adds all frames of a pending or stored node. A tail call returns to where its caller would return.
  bool link_tail(uint32_t index, uint32_t node) { return link(index, {StackFrame::kTail, node}); }

  // The frames of a pending node are a list of links that ends with kNone. The frame of a tail link has only a parent,
  // the node whose frames are inherited.
  uint32_t rule_start(uint32_t node) const { return nodes_[node - kPending].rule_start; }
  uint32_t first_link(uint32_t node) const { return nodes_[node - kPending].first_link; }
  uint32_t next_link(uint32_t link) const { return links_[link].next; }
  bool is_tail(uint32_t link) const { return links_[link].is_tail(); }
  StackFrame frame_of(uint32_t link) const { return link_counts_.join(links_[link].frame, link); }
  // Sets the loop of a frame and its count.
  void set_count(uint32_t link, const StackFrame& frame) { link_counts_.set(link, frame); }

  // Stores the nodes that the states need, and replaces the pending nodes in the states by the stored ones.
  StepResult store(std::span<StackTop> states);

 private:
  // A frame of a pending node, in its list of frames.
  struct Link {
    PlainFrame frame;
    uint32_t next;

    bool is_tail() const { return frame.state == StackFrame::kTail; }
  };
  // A pending node.
  struct Pending {
    uint32_t rule_start;
    uint32_t first_link;
    uint32_t group;
    uint32_t equal;  // an equal node, which may be stored
  };
  // Pending nodes with the same frames.
  struct Group {
    uint32_t rule_start;  // the lowest rule start of its nodes
    uint32_t first_frame;
    uint32_t frame_count;
    uint32_t node;    // kNone until it is stored
    uint32_t member;  // place of its nodes in members_, and later its index in its component
  };

  void drop_unreachable(std::span<StackTop> states);
  bool merge_tail_calls(std::span<StackTop> states);
  bool is_in_order() const;
  StepResult store_in_order();
  StepResult store_node(const Pending& pending, uint32_t* node);
  uint32_t stored_parent(const Link& link) const;
  bool find_groups();
  bool collect_group(uint32_t group);
  bool add_frames(FrameSpan frames);
  bool add_frame(const StackFrame& frame);
  bool inherit(const StackFrame& tail, FrameSpan frames);
  uint32_t normalize(uint32_t first, uint32_t count);
  uint32_t drop_dominated(uint32_t first, uint32_t count);
  StepResult store_groups();
  StepResult store_single(uint32_t group);
  StepResult store_component(std::span<const uint32_t> members);
  bool equals_known_component(std::span<const uint32_t> members, uint32_t* first);
  bool equals_below(std::span<const uint32_t> members, uint32_t known);

  const CompiledGrammar* grammar_ = nullptr;
  StackStore* store_ = nullptr;
  StepBudget* budget_ = nullptr;
  uint32_t capacity_ = 0;
  uint32_t link_capacity_ = 0;
  uint32_t frame_capacity_ = 0;
  uint32_t count_ = 0;
  uint32_t first_new_ = 0;  // first node that the newest byte created
  uint32_t link_count_ = 0;
  uint32_t group_count_ = 0;
  uint32_t frame_count_ = 0;
  Pending* nodes_ = nullptr;
  Link* links_ = nullptr;
  FrameCounts link_counts_;
  Group* groups_ = nullptr;
  FrameArray frames_;
  uint32_t* members_ = nullptr;  // groups by component
  uint32_t* ends_ = nullptr;
  Components components_;
};

}  // namespace sotto
