#include "runtime/grammar/regex/automaton.h"

#include <algorithm>

#include "runtime/base/bits.h"

namespace sotto {
namespace {

// Limits beyond which a pattern has no automaton. They bound the memory and the time, because an NFA with n states may
// have 2^n sets of states.
constexpr uint32_t kMaxNfaStates = 60000;
constexpr uint32_t kMaxSetMembers = 3000000;
constexpr uint64_t kMaxClassWork = 50000000;
constexpr uint64_t kMaxBackwardWork = 20000000;

// A look-ahead of the NFA: an automaton of its own, and the place that it applies to. Its exit reads any text.
struct LookAhead {
  uint32_t begin;
  uint32_t exit;
  uint32_t from;  // the edge from here to `to` can be taken where the look-ahead holds
  uint32_t to;
  bool is_negated;
};

// Builds the NFA by Thompson's construction ("Regular Expression Search Algorithm", CACM 1968), without recursion.
// Anchors and other assertions become edges that can be taken only where they hold.
class RegexNfa {
 public:
  RegexNfa(const RegexTree& tree, Workspace& workspace)
      : nfa(workspace),
        look_aheads(workspace),
        tree_(tree),
        workspace_(workspace),
        set_nodes_(workspace),
        set_of_node_(workspace),
        frames_(workspace) {}

  // Builds the NFA of the tree. With `search`, it allows arbitrary text before and after a match. Returns false if it
  // would be too large.
  bool build(bool search) {
    set_nodes_.push(kNoIndex);
    if (!set_of_node_.resize(tree_.nodes.size(), 0xFF)) return false;
    uint32_t in = start = nfa.add_state();
    if (search) {
      nfa.add_edge(start, NfaLabel::kCharacters, 0, start);
      in = nfa.add_state();
      epsilon(start, in);
    }
    if (!compile(tree_.root, in, &exit)) return false;
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
  GrowingArray<LookAhead> look_aheads;  // inner ones before outer ones
  uint32_t start = 0;
  uint32_t exit = 0;
  uint32_t word_set = kNoIndex;  // the word characters, if there are word boundaries
  bool has_anchors = false;

 private:
  // A node of the tree that is being compiled.
  struct Frame {
    uint32_t node;
    uint32_t in;
    uint32_t out;    // the common end of a choice or repetition
    uint32_t child;  // the child that is being compiled, or the state where a loop branches or a look-ahead begins
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
      if (nfa.states.size() > kMaxNfaStates || empty_count_ > kMaxNfaStates || workspace_.exhausted()) return false;
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
        ++empty_count_;
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
      case RegexKind::kWordBoundary:
      case RegexKind::kNoWordBoundary:
        end = nfa.add_state();
        nfa.add_edge(frame.in,
                     node.kind == RegexKind::kWordBoundary ? NfaLabel::kWordBoundary : NfaLabel::kNoWordBoundary, 0,
                     end);
        if (word_set == kNoIndex) word_set = set_of(frame.node);
        break;
      case RegexKind::kLookAhead:
      case RegexKind::kNoLookAhead:
        if (entered) {
          frame.child = nfa.add_state();
          push(node.first, frame.child);
          return kNoIndex;
        }
        end = look_ahead(frame, node.kind == RegexKind::kNoLookAhead, done);
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

  uint32_t look_ahead(const Frame& frame, bool is_negated, uint32_t done) {
    const uint32_t out = nfa.add_state();
    epsilon(done, out);
    nfa.add_edge(out, NfaLabel::kCharacters, 0, out);
    const uint32_t end = nfa.add_state();
    nfa.add_edge(frame.in, NfaLabel::kLookAhead, look_aheads.size(), end);
    look_aheads.push({frame.child, out, frame.in, end, is_negated});
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
  uint32_t empty_count_ = 0;  // bounds the time, because the repetitions of an empty expression add no states
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
  bool contains(uint32_t set, uint32_t symbol) const { return members_[size_t{set} * count_ + symbol] != 0; }

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

// Builds the automaton of a pattern with look-ahead or word boundaries, by reading texts from the end to the beginning.
//
// Every place in a text has a set: the NFA states from which the rest of the text leads to an exit. The set before a
// character follows from the set after it. Read backwards, these sets are therefore the states of a deterministic
// automaton. A text matches if the set at its beginning contains the start.
//
// The sets also contain the states of the look-ahead's automaton: a look-ahead holds where the set contains its begin.
// A word boundary also depends on the character before the place. The sets are therefore stored without following edges
// that read nothing. These edges are followed later, once for each kind of character that may precede.
//
// The edges are written in the opposite direction, to an NFA that reads texts forwards; SubsetConstruction makes it
// deterministic. The reversal of a deterministic automaton, made deterministic, is minimal (Brzozowski 1962).
class BackwardConstruction {
 public:
  BackwardConstruction(const RegexNfa& source, const CodePointClasses& classes, Workspace& workspace)
      : reversed(workspace),
        source_(source),
        classes_(classes),
        workspace_(workspace),
        incoming_first_(workspace),
        incoming_(workspace),
        visited_(workspace),
        stack_(workspace),
        closure_(workspace),
        holds_(workspace),
        sets_(workspace),
        symbols_(workspace),
        before_(workspace),
        next_(workspace) {}

  // Returns false if the automaton would be too large or the workspace is exhausted.
  bool build() {
    start = reversed.add_state();
    if (!index_incoming() || !holds_.resize(source_.look_aheads.size()) || classes_.count() > UINT16_MAX) return false;
    row_words_ = source_.nfa.states.size() / 64 + 1;
    if (!symbols_.resize(classes_.count() / 64 + 1) || !before_.resize(classes_.count() * row_words_)) return false;
    next_.push(source_.exit);
    for (const LookAhead& look_ahead : source_.look_aheads.span()) next_.push(look_ahead.exit);
    sort_numbers(next_.begin(), next_.end());
    exit = intern(kAtEnd);
    for (uint32_t set = 0; set < sets_.count() && !workspace_.exhausted(); ++set) {
      if (sets_.count() > kMaxAutomatonStates || sets_.item_count() > kMaxSetMembers) return false;
      if (work_ > kMaxBackwardWork) return false;
      close(set, true, false);
      if (is_in_closure(source_.start)) reversed.add_edge(start, NfaLabel::kEpsilon, 0, state_of(set));
      add_edges(set, false);
      if (source_.word_set != kNoIndex) add_edges(set, true);
    }
    return !workspace_.exhausted();
  }

  // The edges of `reversed` have the first and the last of consecutive symbols.
  template <typename Visit>
  void each_symbols(const NfaEdge& edge, Visit visit) const {
    if (edge.label == NfaLabel::kCharacters) visit(Interval{edge.value >> 16, edge.value & UINT16_MAX});
  }

  Nfa reversed;
  uint32_t start = 0;
  uint32_t exit = 0;

 private:
  // The last number of a stored set, after its NFA states: what follows the place.
  enum Next : uint32_t { kOther, kWord, kAtEnd };
  // An edge of the NFA.
  struct Incoming {
    uint32_t edge;
    uint32_t from;
  };

  static uint32_t state_of(uint32_t set) { return set + 2; }
  uint32_t intern(Next next) {
    next_.push(source_.nfa.states.size() + next);
    const uint32_t before = sets_.count();
    const uint32_t set = sets_.intern(next_.span());
    if (sets_.count() != before) reversed.add_state();
    return state_of(set);
  }

  // Sorts the edges by their targets, with a counting sort.
  bool index_incoming() {
    const Nfa& nfa = source_.nfa;
    const uint32_t count = nfa.states.size();
    if (!incoming_first_.resize(count + 1) || !incoming_.resize(nfa.edges.size()) || !visited_.resize(count)) {
      return false;
    }
    for (uint32_t edge = 1; edge < nfa.edges.size(); ++edge) ++incoming_first_[nfa.edges[edge].target];
    for (uint32_t state = 1; state <= count; ++state) incoming_first_[state] += incoming_first_[state - 1];
    for (uint32_t state = 0; state < count; ++state) {
      for (uint32_t edge = nfa.states[state].first_edge; edge != 0; edge = nfa.edges[edge].next) {
        incoming_[--incoming_first_[nfa.edges[edge].target]] = {edge, state};
      }
    }
    return true;
  }

  std::span<const Incoming> incoming(uint32_t state) const {
    const uint32_t first = incoming_first_[state];
    return incoming_.span(first, incoming_first_[state + 1] - first);
  }

  bool is_in_closure(uint32_t state) const { return visited_[state] == round_; }
  void add(uint32_t state) {
    if (is_in_closure(state)) return;
    visited_[state] = round_;
    stack_.push(state);
    closure_.push(state);
  }

  // Replaces the closure by the states of a set and those that lead to them without reading a character. `after_word`
  // says whether a word character precedes the place.
  void close(uint32_t set, bool at_begin, bool after_word) {
    ++round_;
    closure_.truncate(0);
    const auto members = sets_[set];
    const uint32_t next = members.back() - source_.nfa.states.size();
    const bool is_boundary = after_word != (next == kWord);
    std::fill(holds_.begin(), holds_.end(), uint8_t{0});
    const auto passes = [&](const NfaEdge& edge) {
      switch (edge.label) {
        case NfaLabel::kEpsilon:
          return true;
        case NfaLabel::kTextBegin:
          return at_begin;
        case NfaLabel::kTextEnd:
          return next == kAtEnd;
        case NfaLabel::kWordBoundary:
          return is_boundary;
        case NfaLabel::kNoWordBoundary:
          return !is_boundary;
        case NfaLabel::kLookAhead:
          return holds_[edge.value] != 0;
        default:
          return false;
      }
    };
    const auto follow = [&] {
      while (!stack_.empty()) {
        const uint32_t state = stack_.back();
        stack_.pop();
        for (const Incoming& in : incoming(state)) {
          ++work_;
          if (passes(source_.nfa.edges[in.edge])) add(in.from);
        }
      }
    };
    for (const uint32_t member : members.first(members.size() - 1)) add(member);
    follow();
    // A look-ahead depends only on those inside it, which come before it.
    for (uint32_t i = 0; i < source_.look_aheads.size(); ++i) {
      const LookAhead& look_ahead = source_.look_aheads[i];
      holds_[i] = is_in_closure(look_ahead.begin) != look_ahead.is_negated ? 1 : 0;
      if (holds_[i] == 0 || !is_in_closure(look_ahead.to)) continue;
      add(look_ahead.from);
      follow();
    }
    work_ += source_.look_aheads.size();
  }

  // Adds the edges to a set from the sets before each symbol. Considers either only word characters, or only other
  // symbols. Without word boundaries, no symbol counts as a word character.
  void add_edges(uint32_t set, bool is_word) {
    close(set, false, is_word);
    for (const uint32_t state : closure_.span()) {
      for (const Incoming& in : incoming(state)) {
        classes_.each_symbols(source_.nfa.edges[in.edge], [&](Interval symbols) {
          for (uint32_t symbol = symbols.first; symbol <= symbols.last; ++symbol) {
            ++work_;
            const bool is_word_symbol = source_.word_set != kNoIndex && classes_.contains(source_.word_set, symbol);
            if (is_word_symbol != is_word) continue;
            set_bit(symbols_.begin(), symbol);
            set_bit(&before_[symbol * row_words_], in.from);
          }
        });
      }
    }
    take_bits(symbols_.begin(), symbols_.size(), [&](uint32_t symbol) {
      work_ += row_words_ / 16;  // a word of bits takes much less time than a step
      next_.truncate(0);
      take_bits(&before_[symbol * row_words_], row_words_, [&](uint32_t state) { next_.push(state); });
      const uint32_t before = intern(is_word ? kWord : kOther);
      add_edge(before, symbol, state_of(set));
    });
  }

  // Calls take(index) for each bit that is set, in ascending order, and clears the bits.
  template <typename Take>
  static void take_bits(uint64_t* words, uint32_t count, Take take) {
    for (uint32_t i = 0; i < count; ++i) {
      for (const uint32_t bit : SetBits(words[i])) take(i * 64 + bit);
      words[i] = 0;
    }
  }

  // Adds an edge, or extends the newest one by the next symbol.
  void add_edge(uint32_t from, uint32_t symbol, uint32_t to) {
    NfaEdge& newest = reversed.edges.back();
    const bool continues = newest.label == NfaLabel::kCharacters && newest.target == to && newest_from_ == from &&
                           (newest.value & UINT16_MAX) + 1 == symbol;
    if (continues) {
      ++newest.value;
      return;
    }
    reversed.add_edge(from, NfaLabel::kCharacters, symbol << 16 | symbol, to);
    newest_from_ = from;
  }

  const RegexNfa& source_;
  const CodePointClasses& classes_;
  Workspace& workspace_;
  GrowingArray<uint32_t> incoming_first_;  // first edge to each state
  GrowingArray<Incoming> incoming_;        // edges by their targets
  GrowingArray<uint32_t> visited_;         // for each state, the last closure that contains it
  GrowingArray<uint32_t> stack_;
  GrowingArray<uint32_t> closure_;
  GrowingArray<uint8_t> holds_;  // for each look-ahead, whether it is known to hold
  InternedSets sets_;
  GrowingArray<uint64_t> symbols_;  // bits of the symbols before the current set
  GrowingArray<uint64_t> before_;   // for each symbol, bits of the NFA states before it
  GrowingArray<uint32_t> next_;
  uint32_t round_ = 0;
  uint32_t row_words_ = 0;  // words of before_ per symbol
  uint32_t newest_from_ = 0;
  uint64_t work_ = 0;
};

}  // namespace

bool automaton_of_regex(const RegexTree& tree, bool search, Workspace& workspace, CharacterAutomaton* automaton) {
  constexpr uint64_t kMaxStates = kMaxAutomatonStates;
  const size_t mark = workspace.size();
  RegexNfa nfa(tree, workspace);
  if (!nfa.build(search)) return false;
  CodePointClasses classes(nfa, workspace);
  if (!classes.build()) return false;
  Dfa dfa(workspace);
  if (tree.has_assertions) {
    BackwardConstruction backward(nfa, classes, workspace);
    if (!backward.build()) return false;
    SubsetConstruction<BackwardConstruction> subsets(backward.reversed, backward, workspace);
    if (workspace.exhausted()) return false;
    if (!subsets.determinize(backward.start, backward.exit, {kMaxStates, kMaxSetMembers}, &dfa)) return false;
  } else {
    SubsetConstruction<CodePointClasses> subsets(nfa.nfa, classes, workspace);
    if (nfa.has_anchors) subsets.set_anchored();
    if (search) subsets.set_absorbing();
    if (workspace.exhausted()) return false;
    if (!subsets.determinize(nfa.start, nfa.exit, {kMaxStates, kMaxSetMembers}, &dfa)) return false;
  }
  if (workspace.exhausted()) return false;
  return make_table(dfa, classes.ranges(), classes.count(), mark, workspace, automaton);
}

}  // namespace sotto
