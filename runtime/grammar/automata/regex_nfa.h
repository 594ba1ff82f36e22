// Regular expressions as automata with epsilon edges (Thompson's construction); anchors are
// conditions on edges.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/grammar/regex/regex_tree.h"

namespace sotto {

class RegexNfa {
 public:
  enum class EdgeKind : uint8_t { kEpsilon, kBegin, kEnd, kCharacters };
  struct Edge {
    EdgeKind kind;
    uint32_t target;
    uint32_t set;   // of characters
    uint32_t next;  // of the same state
  };

  RegexNfa(const RegexTree& tree, Workspace& workspace);

  // False if it would be too large. search: anything may stand before and after.
  bool build(bool search);

  uint32_t start() const { return start_; }
  uint32_t accept() const { return accept_; }
  // Whether anything may follow once `accept` is reached.
  bool accepts_more() const { return search_; }
  uint32_t state_count() const { return first_edges_.size(); }
  uint32_t first_edge(uint32_t state) const { return first_edges_[state]; }
  const Edge& edge(uint32_t edge) const { return edges_[edge]; }
  uint32_t set_count() const { return set_nodes_.size(); }
  std::span<const Interval> set(uint32_t set) const;

 private:
  // A node of the tree that is being compiled.
  struct Frame {
    uint32_t node;
    uint32_t in;
    uint32_t out;    // of choices and repetitions
    uint32_t child;  // the one under way; the fork of a loop
    uint32_t done;   // repetitions
  };

  uint32_t add_state() { return first_edges_.push(kNone); }
  void add_edge(uint32_t from, EdgeKind kind, uint32_t to, uint32_t set = 0);
  uint32_t set_of(uint32_t node);
  void push(uint32_t node, uint32_t in) { frames_.push({node, in, kNone, kNone, kNone}); }
  bool compile(uint32_t in, uint32_t* out);
  uint32_t step(uint32_t done);
  uint32_t sequence(Frame& frame, const RegexNode& node, bool entered, uint32_t done);
  uint32_t choice(Frame& frame, const RegexNode& node, bool entered, uint32_t done);
  uint32_t repeat(Frame& frame, const RegexNode& node, bool entered, uint32_t done);

  const RegexTree& tree_;
  Workspace& workspace_;
  GrowingArray<uint32_t> first_edges_;  // by state
  GrowingArray<Edge> edges_;
  GrowingArray<uint32_t> set_nodes_;  // by set, its node; set 0, all characters, has none
  GrowingArray<uint32_t> set_of_node_;
  GrowingArray<Frame> frames_;
  uint32_t start_ = 0;
  uint32_t accept_ = 0;
  bool search_ = false;
};

}  // namespace sotto
