#include "runtime/grammar/regex/automaton.h"

#include <algorithm>

namespace sotto {
namespace {

constexpr uint32_t kMaxNfaStates = 60000;
constexpr uint32_t kMaxSetMembers = 3000000;
constexpr uint64_t kMaxClassWork = 50000000;
// Builds the NFA by Thompson's construction ("Regular Expression Search Algorithm", CACM 1968), without recursion.
// Anchors become edges that can be taken only at the beginning or the end of the text.
class RegexNfa {
 public:
  RegexNfa(const RegexTree& tree, Workspace& workspace)
      : nfa(workspace),
        tree_(tree),
        workspace_(workspace),
        set_nodes_(workspace),
        set_of_node_(workspace),
        frames_(workspace) {}

  // Builds the NFA of the node `root`. With `search`, it allows arbitrary text before and after a match. Returns false
  // if it would be too large.
  bool build(uint32_t root, bool search) {
    set_nodes_.push(kNoIndex);
    if (!set_of_node_.resize(tree_.nodes.size(), 0xFF)) return false;
    uint32_t in = start = nfa.add_state();
    if (search) {
      nfa.add_edge(start, NfaLabel::kCharacters, 0, start);
      in = nfa.add_state();
      epsilon(start, in);
    }
    if (!compile(root, in, &exit)) return false;
    if (search) {
      const uint32_t out = exit;
      exit = nfa.add_state();
      epsilon(out, exit);
      nfa.add_edge(exit, NfaLabel::kCharacters, 0, exit);
    }
    return !workspace_.exhausted();
  }

  uint32_t set_count() const { return set_nodes_.size(); }
  std::span<const Interval> set(uint32_t set) const {
    return set_nodes_[set] == kNoIndex ? std::span<const Interval>(kAllCodePoints)
                                       : tree_.characters(tree_[set_nodes_[set]]);
  }

  Nfa nfa;
  uint32_t start = 0;
  uint32_t exit = 0;
  bool has_anchors = false;

 private:
  // A node of the tree that is being compiled.
  struct Frame {
    uint32_t node;
    uint32_t in;
    uint32_t out;    // the common end of a choice or repetition
    uint32_t child;  // the child that is being compiled, or the state where a loop branches
    uint32_t done;   // number of repetitions that have been compiled
  };

  void epsilon(uint32_t from, uint32_t to) { nfa.add_edge(from, NfaLabel::kEpsilon, 0, to); }
  uint32_t set_of(uint32_t node) {
    if (set_of_node_[node] == kNoIndex) set_of_node_[node] = set_nodes_.push(node);
    return set_of_node_[node];
  }
  void push(uint32_t node, uint32_t in) { frames_.push({node, in, kNoIndex, kNoIndex, kNoIndex}); }

  bool compile(uint32_t root, uint32_t in, uint32_t* out) {
    push(root, in);
    uint32_t done = kNoIndex;  // the last state of the node that was compiled last
    while (!frames_.empty()) {
      if (nfa.states.size() > kMaxNfaStates || workspace_.exhausted()) return false;
      done = step(done);
    }
    *out = done;
    return done != kNoIndex;
  }

  // Continues with the innermost frame. Returns its last state, or kNoIndex if a child must be compiled first.
  uint32_t step(uint32_t done) {
    Frame& frame = frames_.back();
    const RegexNode node = tree_[frame.node];
    const bool entered = frame.done == kNoIndex;
    if (entered) frame.done = 0;
    uint32_t end = kNoIndex;
    switch (node.kind) {
      case RegexKind::kEmpty:
        end = frame.in;
        break;
      case RegexKind::kCharacters:
        end = nfa.add_state();
        nfa.add_edge(frame.in, NfaLabel::kCharacters, set_of(frame.node), end);
        break;
      case RegexKind::kBegin:
      case RegexKind::kEnd:
        end = nfa.add_state();
        nfa.add_edge(frame.in, node.kind == RegexKind::kBegin ? NfaLabel::kTextBegin : NfaLabel::kTextEnd, 0, end);
        has_anchors = true;
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

  uint32_t sequence(Frame& frame, const RegexNode& node, bool entered, uint32_t done) {
    frame.child = entered ? node.first : tree_[frame.child].next;
    const uint32_t in = entered ? frame.in : done;
    if (frame.child == kNoIndex) {
      frames_.pop();
      return in;
    }
    push(frame.child, in);
    return kNoIndex;
  }

  uint32_t choice(Frame& frame, const RegexNode& node, bool entered, uint32_t done) {
    if (entered) frame.out = nfa.add_state();
    if (!entered) epsilon(done, frame.out);
    frame.child = entered ? node.first : tree_[frame.child].next;
    if (frame.child == kNoIndex) {
      const uint32_t out = frame.out;
      frames_.pop();
      return out;
    }
    const uint32_t in = nfa.add_state();
    epsilon(frame.in, in);
    push(frame.child, in);
    return kNoIndex;
  }

  // Compiles a repetition: x{2,4} is x x (x (x)?)?, and x{2,} is x x x*.
  uint32_t repeat(Frame& frame, const RegexNode& node, bool entered, uint32_t done) {
    if (entered) frame.out = nfa.add_state();
    uint32_t at = entered ? frame.in : done;
    if (!entered) ++frame.done;
    const bool looped = frame.done > node.minimum && node.maximum == kUnbounded;
    if (looped) {
      epsilon(done, frame.child);
    } else if (frame.done >= node.minimum) {
      const uint32_t fork = nfa.add_state();
      epsilon(at, fork);
      epsilon(fork, frame.out);
      frame.child = fork;
      at = nfa.add_state();
      if (frame.done < node.maximum) epsilon(fork, at);
    }
    if (looped || frame.done == node.maximum) {
      const uint32_t out = frame.out;
      frames_.pop();
      return out;
    }
    push(node.first, at);
    return kNoIndex;
  }

  const RegexTree& tree_;
  Workspace& workspace_;
  GrowingArray<uint32_t> set_nodes_;  // the node of each set; set 0 contains all characters and has none
  GrowingArray<uint32_t> set_of_node_;
  GrowingArray<Frame> frames_;
};

// The alphabet: code points that belong to the same sets share a class.
class CodePointClasses {
 public:
  CodePointClasses(const RegexNfa& nfa, Workspace& workspace)
      : nfa_(nfa),
        workspace_(workspace),
        ranges_(workspace),
        points_(workspace),
        kinds_(workspace),
        members_(workspace) {}

  bool build() {
    points_.push(0);
    for (uint32_t set = 0; set < nfa_.set_count(); ++set) {
      for (const Interval interval : nfa_.set(set)) {
        points_.push(interval.first);
        if (interval.last < kMaxCodePoint) points_.push(interval.last + 1);
      }
    }
    if (workspace_.exhausted()) return false;
    sort_numbers(points_.begin(), points_.end());
    points_.truncate(static_cast<size_t>(std::unique(points_.begin(), points_.end()) - points_.begin()));
    if (uint64_t{points_.size()} * nfa_.set_count() > kMaxClassWork || !kinds_.resize(points_.size())) return false;
    for (uint32_t set = 0; set < nfa_.set_count(); ++set) {
      if (!refine(nfa_.set(set))) return false;
    }
    for (uint32_t i = 0; i < points_.size(); ++i) {
      if (i == 0 || kinds_[i] != kinds_[i - 1]) ranges_.push({points_[i], kinds_[i]});
    }
    return mark_members();
  }

  std::span<const CharacterAutomaton::Range> ranges() const { return ranges_.span(); }
  uint32_t count() const { return count_; }

  template <typename Visit>
  void each_symbols(const NfaEdge& edge, Visit visit) const {
    if (edge.label != NfaLabel::kCharacters) return;
    const auto members = members_.span(size_t{edge.value} * count_, count_);
    for (uint32_t first = 0; first < count_; ++first) {
      if (members[first] == 0) continue;
      const uint32_t begin = first;
      while (first + 1 < count_ && members[first + 1] != 0) ++first;
      visit(Interval{begin, first});
    }
  }

 private:
  // Divides every class into the part inside the set and the part outside.
  bool refine(std::span<const Interval> set) {
    const size_t mark = workspace_.size();
    auto* parts = workspace_.take<uint32_t>(2 * size_t{count_});
    if (parts == nullptr) return false;
    std::fill_n(parts, 2 * size_t{count_}, kNoIndex);
    uint32_t known = 0;
    size_t at = 0;
    for (uint32_t i = 0; i < points_.size(); ++i) {
      while (at < set.size() && set[at].last < points_[i]) ++at;
      const bool is_inside = at < set.size() && set[at].first <= points_[i];
      uint32_t& kind = parts[2 * kinds_[i] + (is_inside ? 1 : 0)];
      if (kind == kNoIndex) kind = known++;
      kinds_[i] = kind;
    }
    count_ = known;
    workspace_.release(mark);
    return true;
  }

  bool mark_members() {
    if (!members_.resize(size_t{nfa_.set_count()} * count_)) return false;
    for (uint32_t set = 0; set < nfa_.set_count(); ++set) {
      const auto intervals = nfa_.set(set);
      size_t at = 0;
      for (const auto range : ranges_.span()) {
        while (at < intervals.size() && intervals[at].last < range.first) ++at;
        const bool is_member = at < intervals.size() && intervals[at].first <= range.first;
        if (is_member) members_[size_t{set} * count_ + range.kind] = 1;
      }
    }
    return !workspace_.exhausted();
  }

  const RegexNfa& nfa_;
  Workspace& workspace_;
  GrowingArray<CharacterAutomaton::Range> ranges_;
  GrowingArray<uint32_t> points_;  // code points where a set begins or ends
  GrowingArray<uint32_t> kinds_;   // class of each point
  GrowingArray<uint8_t> members_;  // (set, class)
  uint32_t count_ = 1;
};

bool automaton_of_node(const RegexTree& tree, uint32_t root, bool search, Workspace& workspace,
                       CharacterAutomaton* automaton) {
  const size_t mark = workspace.size();
  RegexNfa nfa(tree, workspace);
  if (!nfa.build(root, search)) return false;
  CodePointClasses classes(nfa, workspace);
  if (!classes.build()) return false;
  Dfa dfa(workspace);
  SubsetConstruction<CodePointClasses> subsets(nfa.nfa, classes, workspace);
  if (nfa.has_anchors) subsets.set_anchored();
  if (search) subsets.set_absorbing();
  if (workspace.exhausted()) return false;
  if (!subsets.determinize(nfa.start, nfa.exit, {kMaxAutomatonStates, kMaxSetMembers}, &dfa)) return false;
  if (workspace.exhausted()) return false;
  return make_table(dfa, classes.ranges(), classes.count(), mark, workspace, automaton);
}

}  // namespace

bool automaton_of_regex(const RegexTree& tree, bool search, Workspace& workspace, CharacterAutomaton* automaton) {
  if (!automaton_of_node(tree, tree.root, search, workspace, automaton)) return false;
  for (const RegexTree::Condition condition : tree.conditions.span()) {
    const CharacterAutomaton matches = *automaton;
    CharacterAutomaton beginning;
    if (!automaton_of_node(tree, condition.root, true, workspace, &beginning) ||
        !intersect_automata(matches, false, beginning, condition.negated, workspace, automaton)) {
      return false;
    }
  }
  return true;
}

}  // namespace sotto
