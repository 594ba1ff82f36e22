#include "runtime/grammar/automata/regex_nfa.h"

namespace sotto {
namespace {

constexpr uint32_t kMaxNfaStates = 60000;
constexpr Interval kAll[] = {{0, kMaxCodePoint}};

}  // namespace

RegexNfa::RegexNfa(const RegexTree& tree, Workspace& workspace)
    : tree_(tree),
      workspace_(workspace),
      first_edges_(workspace),
      edges_(workspace),
      set_nodes_(workspace),
      set_of_node_(workspace),
      frames_(workspace) {}

bool RegexNfa::build(bool search) {
  search_ = search;
  set_nodes_.push(kNone);
  if (!set_of_node_.resize(tree_.nodes.size(), 0xFF)) return false;
  uint32_t in = start_ = add_state();
  if (search) {
    add_edge(start_, EdgeKind::kCharacters, start_, 0);
    in = add_state();
    add_edge(start_, EdgeKind::kEpsilon, in);
  }
  if (!compile(in, &accept_)) return false;
  if (search) {
    const uint32_t out = accept_;
    accept_ = add_state();
    add_edge(out, EdgeKind::kEpsilon, accept_);
    add_edge(accept_, EdgeKind::kCharacters, accept_, 0);
  }
  return !workspace_.exhausted();
}

std::span<const Interval> RegexNfa::set(uint32_t set) const {
  if (set_nodes_[set] == kNone) return kAll;
  return tree_.characters(tree_[set_nodes_[set]]);
}

void RegexNfa::add_edge(uint32_t from, EdgeKind kind, uint32_t to, uint32_t set) {
  first_edges_[from] = edges_.push({kind, to, set, first_edges_[from]});
}

uint32_t RegexNfa::set_of(uint32_t node) {
  if (set_of_node_[node] == kNone) set_of_node_[node] = set_nodes_.push(node);
  return set_of_node_[node];
}

bool RegexNfa::compile(uint32_t in, uint32_t* out) {
  frames_.truncate(0);
  push(tree_.root, in);
  uint32_t done = kNone;  // the end of what was compiled last
  while (!frames_.empty()) {
    if (first_edges_.size() > kMaxNfaStates || workspace_.exhausted()) return false;
    done = step(done);
  }
  *out = done;
  return done != kNone;
}

// Goes on with the innermost frame; returns the state it ends in, or kNone if a child is due.
uint32_t RegexNfa::step(uint32_t done) {
  Frame& frame = frames_.back();
  const RegexNode node = tree_[frame.node];
  const bool entered = frame.done == kNone;
  if (entered) frame.done = 0;
  uint32_t end = kNone;
  switch (node.kind) {
    case RegexKind::kEmpty:
      end = frame.in;
      break;
    case RegexKind::kCharacters:
      end = add_state();
      add_edge(frame.in, EdgeKind::kCharacters, end, set_of(frame.node));
      break;
    case RegexKind::kBegin:
    case RegexKind::kEnd:
      end = add_state();
      add_edge(frame.in, node.kind == RegexKind::kBegin ? EdgeKind::kBegin : EdgeKind::kEnd, end);
      break;
    case RegexKind::kSequence:
      return sequence(frame, node, entered, done);
    case RegexKind::kChoice:
      return choice(frame, node, entered, done);
    case RegexKind::kRepeat:
      return repeat(frame, node, entered, done);
  }
  frames_.pop();
  return end;
}

uint32_t RegexNfa::sequence(Frame& frame, const RegexNode& node, bool entered, uint32_t done) {
  frame.child = entered ? node.first : tree_[frame.child].next;
  const uint32_t in = entered ? frame.in : done;
  if (frame.child == kNone) {
    frames_.pop();
    return in;
  }
  push(frame.child, in);
  return kNone;
}

uint32_t RegexNfa::choice(Frame& frame, const RegexNode& node, bool entered, uint32_t done) {
  if (entered) frame.out = add_state();
  if (!entered) add_edge(done, EdgeKind::kEpsilon, frame.out);
  frame.child = entered ? node.first : tree_[frame.child].next;
  if (frame.child == kNone) {
    const uint32_t out = frame.out;
    frames_.pop();
    return out;
  }
  const uint32_t in = add_state();
  add_edge(frame.in, EdgeKind::kEpsilon, in);
  push(frame.child, in);
  return kNone;
}

// x{2,4}: x x (x (x)?)?; x{2,}: x x x*.
uint32_t RegexNfa::repeat(Frame& frame, const RegexNode& node, bool entered, uint32_t done) {
  if (entered) frame.out = add_state();
  uint32_t at = entered ? frame.in : done;
  if (!entered) ++frame.done;
  const bool looped = frame.done > node.minimum && node.maximum == kUnbounded;
  if (looped) {
    add_edge(done, EdgeKind::kEpsilon, frame.child);
  } else if (frame.done >= node.minimum) {
    const uint32_t fork = add_state();
    add_edge(at, EdgeKind::kEpsilon, fork);
    add_edge(fork, EdgeKind::kEpsilon, frame.out);
    frame.child = fork;
    at = add_state();
    if (frame.done < node.maximum) add_edge(fork, EdgeKind::kEpsilon, at);
  }
  if (looped || frame.done == node.maximum) {
    const uint32_t out = frame.out;
    frames_.pop();
    return out;
  }
  push(node.first, at);
  return kNone;
}

}  // namespace sotto
