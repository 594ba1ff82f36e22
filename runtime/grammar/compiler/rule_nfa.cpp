#include "runtime/grammar/compiler/rule_nfa.h"

#include <algorithm>

#include "runtime/base/sort.h"

namespace sotto {
namespace {

class NfaBuilder {
 public:
  NfaBuilder(GrammarBuilder& grammar, uint32_t unrolled_states, RuleNfa& nfa)
      : grammar_(grammar),
        unrolled_states_(unrolled_states),
        nfa_(nfa),
        tasks_(grammar.workspace()),
        suffixes_(grammar.workspace()),
        loop_of_(grammar.workspace()) {}

  void build() {
    // Loops add rules at the end, so their number grows during the iteration.
    for (uint32_t rule = 0; rule < grammar_.rule_count(); ++rule) {
      if (grammar_.workspace().exhausted()) return;
      const RuleAutomaton automaton{nfa_.add_state(), nfa_.add_state()};
      nfa_.states[automaton.exit].exit_of = rule + 1;
      nfa_.rules.push(automaton);
      tasks_.push({grammar_.rule_at(rule).body, automaton.start, automaton.exit});
      while (!tasks_.empty() && !grammar_.workspace().exhausted()) {
        const Task task = tasks_.back();
        tasks_.pop();
        build(task);
      }
    }
  }

 private:
  // An expression to build between two states. No edge is added into `entry` or out of `exit`.
  struct Task {
    uint32_t expression;
    uint32_t entry;
    uint32_t exit;
  };

  struct Suffix {
    uint8_t lo;
    uint8_t hi;
    uint32_t target;
    uint32_t state;
  };

  void build(const Task& task) {
    const Expression expression = grammar_.expression(task.expression);
    switch (expression.kind) {
      case ExpressionKind::kEmpty:
        nfa_.add_edge(task.entry, NfaLabel::kEpsilon, 0, task.exit);
        break;
      case ExpressionKind::kText:
        text(expression, task);
        break;
      case ExpressionKind::kCharacters:
        characters(expression, task);
        break;
      case ExpressionKind::kTokens:
        nfa_.add_edge(task.entry, NfaLabel::kTokens, task.expression, task.exit);
        break;
      case ExpressionKind::kReference:
        nfa_.add_edge(task.entry, NfaLabel::kCall, expression.first, task.exit);
        break;
      case ExpressionKind::kSequence:
        sequence(expression, task);
        break;
      case ExpressionKind::kChoice:
        for (uint32_t child = expression.first; child != kNoIndex; child = grammar_.expression(child).next) {
          tasks_.push({child, task.entry, task.exit});
        }
        break;
      case ExpressionKind::kRepeat:
        repeat(expression, task);
        break;
      case ExpressionKind::kAnyOrder:
        any_order(expression, task);
        break;
    }
  }

  void text(const Expression& expression, const Task& task) {
    const auto bytes = grammar_.bytes(expression);
    uint32_t from = task.entry;
    for (size_t i = 0; i < bytes.size(); ++i) {
      const uint32_t to = i + 1 == bytes.size() ? task.exit : nfa_.add_state();
      const auto byte = static_cast<uint8_t>(bytes[i]);
      nfa_.add_bytes(from, byte, byte, to);
      from = to;
    }
  }

  void characters(const Expression& expression, const Task& task) {
    suffixes_.truncate(0);
    for (const Interval& interval : grammar_.intervals(expression)) {
      Utf8Sequences sequences(interval);
      ByteSequence bytes;
      while (sequences.next(&bytes)) {
        uint32_t target = task.exit;
        for (uint32_t i = bytes.size - 1; i > 0; --i) {
          target = suffix(bytes.first[i], bytes.last[i], target);
        }
        nfa_.add_bytes(task.entry, bytes.first[0], bytes.last[0], target);
      }
    }
  }

  // Returns a state with an edge to `target` that reads the bytes of this range. Recent byte sequences share such
  // states, so the automata of large character sets stay small.
  uint32_t suffix(uint8_t lo, uint8_t hi, uint32_t target) {
    constexpr uint32_t kRemembered = 16;  // number of newest suffixes that are searched
    for (uint32_t i = 0; i < std::min(suffixes_.size(), kRemembered); ++i) {
      const Suffix& known = suffixes_[suffixes_.size() - 1 - i];
      if (known.lo == lo && known.hi == hi && known.target == target) return known.state;
    }
    const uint32_t state = nfa_.add_state();
    nfa_.add_bytes(state, lo, hi, target);
    suffixes_.push({lo, hi, target, state});
    return state;
  }

  void sequence(const Expression& expression, const Task& task) {
    uint32_t from = task.entry;
    for (uint32_t child = expression.first; child != kNoIndex;) {
      const uint32_t next = grammar_.expression(child).next;
      const uint32_t to = next == kNoIndex ? task.exit : nfa_.add_state();
      tasks_.push({child, from, to});
      from = to;
      child = next;
    }
  }

  void repeat(const Expression& expression, const Task& task) {
    if (expression.minimum <= 1 && expression.maximum == kUnbounded) {
      star(expression.first, task.entry, task.exit, expression.minimum == 1);
    } else if (expression.size <= unrolled_states_) {
      unroll(expression, task);
    } else {
      loop(expression, task);
    }
  }

  // Adds entry -> inside -body-> after -> exit, and an edge back from after to inside.
  void star(uint32_t body, uint32_t entry, uint32_t exit, bool at_least_once) {
    const uint32_t inside = nfa_.add_state();
    const uint32_t after = nfa_.add_state();
    nfa_.add_edge(entry, NfaLabel::kEpsilon, 0, inside);
    nfa_.add_edge(after, NfaLabel::kEpsilon, 0, inside);
    nfa_.add_edge(after, NfaLabel::kEpsilon, 0, exit);
    if (!at_least_once) nfa_.add_edge(inside, NfaLabel::kEpsilon, 0, exit);
    tasks_.push({body, inside, after});
  }

  // Adds one copy of the body per repetition. Copies after the minimum can be skipped, and without a maximum a star
  // follows.
  void unroll(const Expression& expression, const Task& task) {
    const bool bounded = expression.maximum != kUnbounded;
    const uint32_t copies = bounded ? expression.maximum : expression.minimum;
    uint32_t from = task.entry;
    for (uint32_t i = 0; i < copies; ++i) {
      if (i >= expression.minimum) nfa_.add_edge(from, NfaLabel::kEpsilon, 0, task.exit);
      const uint32_t to = nfa_.add_state();
      tasks_.push({expression.first, from, to});
      from = to;
    }
    if (bounded) {
      nfa_.add_edge(from, NfaLabel::kEpsilon, 0, task.exit);
    } else {
      star(expression.first, from, task.exit, false);
    }
  }

  // Adds a rule for the body. Copies of the expression by unrolling share it.
  void loop(const Expression& expression, const Task& task) {
    if (!loop_of_.resize(grammar_.expression_count())) return;
    uint32_t& known = loop_of_[expression.first];
    if (known == 0) {
      const Expression& body = grammar_.expression(expression.first);
      const uint32_t rule =
          body.kind == ExpressionKind::kReference ? body.first : grammar_.anonymous_rule(expression.first);
      known = nfa_.loops.push({rule, expression.minimum, expression.maximum, rule, kNoIndex}) + 1;
    }
    nfa_.add_edge(task.entry, NfaLabel::kLoop, known - 1, task.exit);
  }

  // A member that may repeat is the last one. It comes only after the required ones.
  void any_order(const Expression& expression, const Task& task) {
    const uint32_t set = nfa_.loops.size();
    bool is_complete = true;
    for (const SetMember& member : grammar_.members(expression)) {
      const uint32_t loop = nfa_.loops.push({member.more, member.minimum, member.maximum, member.rule, set});
      if (member.maximum == 1 || is_complete) nfa_.add_edge(task.entry, NfaLabel::kLoop, loop, task.exit);
      is_complete = is_complete && member.minimum == 0;
    }
  }

  GrammarBuilder& grammar_;
  uint32_t unrolled_states_;
  RuleNfa& nfa_;
  GrowingArray<Task> tasks_;
  GrowingArray<Suffix> suffixes_;
  GrowingArray<uint32_t> loop_of_;  // for each expression that is the body of a loop, the number of the loop plus 1
};

bool is_call(const NfaEdge& edge) { return edge.label == NfaLabel::kCall || edge.label == NfaLabel::kLoop; }

uint32_t callee(const RuleNfa& nfa, const NfaEdge& edge) {
  return edge.label == NfaLabel::kCall ? edge.value : nfa.loops[edge.value].first;
}

// Edges grouped by a key, for example all calls of a rule or all edges into a state.
class EdgeIndex {
 public:
  explicit EdgeIndex(Workspace& workspace) : heads_(workspace), next_(workspace), source_(workspace) {}

  bool init(const RuleNfa& nfa, bool by_callee) {
    const uint32_t keys = by_callee ? nfa.rules.size() : nfa.states.size();
    if (!heads_.resize(keys) || !next_.resize(nfa.edges.size()) || !source_.resize(nfa.edges.size())) {
      return false;
    }
    for (uint32_t state = 1; state < nfa.states.size(); ++state) {
      for (uint32_t e = nfa.states[state].first_edge; e != 0; e = nfa.edges[e].next) {
        source_[e] = state;
        const NfaEdge& edge = nfa.edges[e];
        if (edge.label == NfaLabel::kRemoved || (by_callee && !is_call(edge))) continue;
        const uint32_t key = by_callee ? callee(nfa, edge) : edge.target;
        next_[e] = heads_[key];
        heads_[key] = e;
      }
    }
    return true;
  }
  uint32_t first(uint32_t key) const { return heads_[key]; }
  uint32_t next(uint32_t edge) const { return next_[edge]; }
  uint32_t source(uint32_t edge) const { return source_[edge]; }

 private:
  GrowingArray<uint32_t> heads_;
  GrowingArray<uint32_t> next_;
  GrowingArray<uint32_t> source_;
};

class Analyzer {
 public:
  Analyzer(RuleNfa& nfa, uint32_t root, Workspace& workspace, NfaAnalysis* analysis)
      : nfa_(nfa),
        root_(root),
        workspace_(workspace),
        analysis_(*analysis),
        calls_(workspace),
        incoming_(workspace),
        nullable_(workspace),
        marked_(workspace),
        work_(workspace) {}

  void analyze() {
    const bool fits = calls_.init(nfa_, true) && nullable_.resize(nfa_.rules.size()) &&
                      marked_.resize(nfa_.states.size()) && analysis_.productive.resize(nfa_.rules.size()) &&
                      analysis_.reachable.resize(nfa_.rules.size()) && analysis_.live.resize(nfa_.states.size());
    if (!fits) return;
    find_nullable();
    add_epsilons();
    if (!incoming_.init(nfa_, false)) return;
    find_live();
    remove_dead();
    find_reachable();
  }

 private:
  void mark_empty(uint32_t state) {
    if (marked_[state] != 0) return;
    marked_[state] = 1;
    work_.push(state);
  }

  bool passes_empty(const NfaEdge& edge) const {
    if (edge.label == NfaLabel::kEpsilon) return true;
    if (edge.label == NfaLabel::kCall) return nullable_[edge.value] != 0;
    if (edge.label != NfaLabel::kLoop || nfa_.loops[edge.value].set != kNoIndex) return false;
    return nfa_.loops[edge.value].minimum == 0 || nullable_[nfa_.loops[edge.value].rule] != 0;
  }

  // Marks the states that can be reached from the start of a rule through epsilon edges.
  void find_nullable() {
    for (const RuleAutomaton& rule : nfa_.rules.span()) mark_empty(rule.start);
    while (!work_.empty() && !workspace_.exhausted()) {
      const uint32_t state = work_.back();
      work_.pop();
      for (uint32_t e = nfa_.states[state].first_edge; e != 0; e = nfa_.edges[e].next) {
        if (passes_empty(nfa_.edges[e])) mark_empty(nfa_.edges[e].target);
      }
      const uint32_t exit_of = nfa_.states[state].exit_of;
      if (exit_of == 0) continue;
      nullable_[exit_of - 1] = 1;
      for (uint32_t e = calls_.first(exit_of - 1); e != 0; e = calls_.next(e)) {
        if (marked_[calls_.source(e)] != 0) mark_empty(nfa_.edges[e].target);
      }
    }
  }

  void add_epsilons() {
    for (uint32_t i = 0; i < nfa_.loops.size(); ++i) {
      if (nullable_[nfa_.loops[i].rule] != 0) nfa_.loops[i].minimum = 0;
    }
    const uint32_t edge_count = nfa_.edges.size();
    for (uint32_t state = 1; state < nfa_.states.size(); ++state) {
      for (uint32_t e = nfa_.states[state].first_edge; e != 0; e = nfa_.edges[e].next) {
        const NfaEdge edge = nfa_.edges[e];
        if (e < edge_count && is_call(edge) && passes_empty(edge)) {
          nfa_.add_edge(state, NfaLabel::kEpsilon, 0, edge.target);
        }
      }
    }
  }

  void mark_live(uint32_t state) {
    if (analysis_.live[state] != 0) return;
    analysis_.live[state] = 1;
    work_.push(state);
  }

  bool can_pass(const NfaEdge& edge) const {
    if (!is_call(edge)) return true;
    if (analysis_.productive[callee(nfa_, edge)] == 0) return false;
    return edge.label == NfaLabel::kCall || can_complete(nfa_.loops[edge.value].set);
  }

  // Calls visit(loop) for each member of a set.
  template <typename Visit>
  void each_member(uint32_t set, Visit visit) const {
    for (uint32_t i = set; i < nfa_.loops.size() && nfa_.loops[i].set == set; ++i) visit(nfa_.loops[i]);
  }

  // Returns whether every member that the set requires is productive.
  bool can_complete(uint32_t set) const {
    bool result = true;
    each_member(set, [&](const Loop& member) {
      result = result && (member.minimum == 0 || analysis_.productive[member.rule] != 0);
    });
    return result;
  }

  // Finds the states from which the exit of their rule can be reached, backwards from the exits. A rule is productive
  // if its start is such a state.
  void find_live() {
    for (const RuleAutomaton& rule : nfa_.rules.span()) mark_live(rule.exit);
    do {
      spread_live();
      mark_sets();
    } while (!work_.empty() && !workspace_.exhausted());
  }

  // Marks the states before a member of a set if the set can be completed from there, possibly by other members.
  void mark_sets() {
    for (uint32_t e = 1; e < nfa_.edges.size(); ++e) {
      const NfaEdge& edge = nfa_.edges[e];
      const bool is_member = edge.label == NfaLabel::kLoop && nfa_.loops[edge.value].set != kNoIndex;
      if (is_member && analysis_.live[edge.target] != 0 && can_pass(edge)) mark_live(calls_.source(e));
    }
  }

  void spread_live() {
    while (!work_.empty() && !workspace_.exhausted()) {
      const uint32_t state = work_.back();
      work_.pop();
      for (uint32_t e = incoming_.first(state); e != 0; e = incoming_.next(e)) {
        if (can_pass(nfa_.edges[e])) mark_live(incoming_.source(e));
      }
      const uint32_t rule = rule_starting_at(state);
      if (rule == kNoIndex) continue;
      analysis_.productive[rule] = 1;
      for (uint32_t e = calls_.first(rule); e != 0; e = calls_.next(e)) {
        if (analysis_.live[nfa_.edges[e].target] != 0 && can_pass(nfa_.edges[e])) mark_live(calls_.source(e));
      }
    }
  }

  // Returns the rule that begins in a state. The exit of a rule is the state after its start.
  uint32_t rule_starting_at(uint32_t state) const {
    if (state + 1 >= nfa_.states.size()) return kNoIndex;
    const uint32_t exit_of = nfa_.states[state + 1].exit_of;
    if (exit_of == 0 || nfa_.rules[exit_of - 1].start != state) return kNoIndex;
    return exit_of - 1;
  }

  void remove_dead() {
    for (uint32_t e = 1; e < nfa_.edges.size(); ++e) {
      NfaEdge& edge = nfa_.edges[e];
      if (analysis_.live[edge.target] == 0 || !can_pass(edge)) edge.label = NfaLabel::kRemoved;
    }
  }

  // Finds the rules that can be reached from the root.
  void find_reachable() {
    marked_.truncate(0);
    if (!marked_.resize(nfa_.states.size())) return;
    if (analysis_.productive[root_] == 0) return;
    enter(root_);
    while (!work_.empty() && !workspace_.exhausted()) {
      const uint32_t state = work_.back();
      work_.pop();
      for (uint32_t e = nfa_.states[state].first_edge; e != 0; e = nfa_.edges[e].next) {
        const NfaEdge& edge = nfa_.edges[e];
        if (edge.label == NfaLabel::kRemoved) continue;
        mark_empty(edge.target);
        if (is_call(edge)) enter(callee(nfa_, edge));
        if (edge.label == NfaLabel::kLoop) {
          each_member(nfa_.loops[edge.value].set, [&](const Loop& member) {
            if (analysis_.productive[member.rule] != 0) enter(member.rule);
          });
        }
      }
    }
  }

  void enter(uint32_t rule) {
    analysis_.reachable[rule] = 1;
    mark_empty(nfa_.rules[rule].start);
  }

  RuleNfa& nfa_;
  uint32_t root_;
  Workspace& workspace_;
  NfaAnalysis& analysis_;
  EdgeIndex calls_;
  EdgeIndex incoming_;
  GrowingArray<uint8_t> nullable_;
  GrowingArray<uint8_t> marked_;
  GrowingArray<uint32_t> work_;
};

}  // namespace

void build_nfa(GrammarBuilder& builder, uint32_t unrolled_states, RuleNfa& nfa) {
  NfaBuilder(builder, unrolled_states, nfa).build();
}

void analyze_nfa(RuleNfa& nfa, uint32_t root, Workspace& workspace, NfaAnalysis* analysis) {
  Analyzer(nfa, root, workspace, analysis).analyze();
}

void Symbols::init(const GrammarBuilder& grammar, const RuleNfa& nfa) {
  grammar_ = &grammar;
  bool starts[257] = {};
  for (const NfaEdge& edge : nfa.edges.span()) {
    if (edge.label == NfaLabel::kByte) {
      starts[edge.lo] = true;
      starts[edge.hi + 1] = true;
    } else if (edge.label == NfaLabel::kTokens) {
      for (const Interval& tokens : grammar.intervals(grammar.expression(edge.value))) {
        token_cuts_.push(tokens.first);
        token_cuts_.push(tokens.last + 1);
      }
    }
  }
  uint32_t byte_class = 0;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (byte > 0 && starts[byte]) ++byte_class;
    byte_classes_[byte] = static_cast<uint8_t>(byte_class);
  }
  byte_class_count_ = byte_class + 1;
  sort_numbers(token_cuts_.begin(), token_cuts_.end());
  const auto* end = std::unique(token_cuts_.begin(), token_cuts_.end());
  token_cuts_.truncate(static_cast<size_t>(end - token_cuts_.begin()));
  rule_count_ = nfa.rules.size();
}

uint32_t Symbols::cut_index(uint32_t token) const {
  const auto cuts = token_cuts_.span();
  return static_cast<uint32_t>(std::lower_bound(cuts.begin(), cuts.end(), token) - cuts.begin());
}

Interval Symbols::of_tokens(Interval tokens) const {
  return {byte_class_count_ + cut_index(tokens.first), byte_class_count_ + cut_index(tokens.last + 1) - 1};
}

void Symbols::call_of(const RuleNfa& nfa, uint32_t symbol, uint32_t* rule, uint32_t* loop) const {
  const uint32_t call = symbol - class_count();
  const bool is_loop = call >= rule_count_;
  *loop = is_loop ? call - rule_count_ : kNoIndex;
  *rule = is_loop ? nfa.loops[*loop].first : call;
}

}  // namespace sotto
