#include "runtime/grammar/automata/nfa_analysis.h"

namespace sotto {
namespace {

bool is_call(const NfaEdge& edge) { return edge.label == NfaLabel::kCall || edge.label == NfaLabel::kLoop; }

uint32_t callee(const Nfa& nfa, const NfaEdge& edge) {
  return edge.label == NfaLabel::kCall ? edge.value : nfa.loops[edge.value].rule;
}

// The edges that belong together, as lists in arrays: all calls of a rule, all edges into a
// state.
class EdgeIndex {
 public:
  explicit EdgeIndex(Workspace& workspace) : heads_(workspace), next_(workspace), source_(workspace) {}

  bool init(const Nfa& nfa, bool by_callee) {
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
  Analyzer(Nfa& nfa, uint32_t root, Workspace& workspace, NfaAnalysis* analysis)
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
    if (edge.label != NfaLabel::kLoop) return false;
    return nfa_.loops[edge.value].minimum == 0 || nullable_[nfa_.loops[edge.value].rule] != 0;
  }

  // Marks what a rule's start reaches without taking anything.
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

  bool can_pass(const NfaEdge& edge) const { return !is_call(edge) || analysis_.productive[callee(nfa_, edge)] != 0; }

  void find_live() {
    for (const RuleAutomaton& rule : nfa_.rules.span()) mark_live(rule.exit);
    while (!work_.empty() && !workspace_.exhausted()) {
      const uint32_t state = work_.back();
      work_.pop();
      for (uint32_t e = incoming_.first(state); e != 0; e = incoming_.next(e)) {
        if (can_pass(nfa_.edges[e])) mark_live(incoming_.source(e));
      }
      const uint32_t rule = rule_starting_at(state);
      if (rule == kNone) continue;
      analysis_.productive[rule] = 1;
      for (uint32_t e = calls_.first(rule); e != 0; e = calls_.next(e)) {
        if (analysis_.live[nfa_.edges[e].target] != 0) mark_live(calls_.source(e));
      }
    }
  }

  // Rules are built in order, start first, then exit.
  uint32_t rule_starting_at(uint32_t state) const {
    if (state + 1 >= nfa_.states.size()) return kNone;
    const uint32_t exit_of = nfa_.states[state + 1].exit_of;
    if (exit_of == 0 || nfa_.rules[exit_of - 1].start != state) return kNone;
    return exit_of - 1;
  }

  void remove_dead() {
    for (uint32_t e = 1; e < nfa_.edges.size(); ++e) {
      NfaEdge& edge = nfa_.edges[e];
      if (analysis_.live[edge.target] == 0 || !can_pass(edge)) edge.label = NfaLabel::kRemoved;
    }
  }

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
      }
    }
  }

  void enter(uint32_t rule) {
    analysis_.reachable[rule] = 1;
    mark_empty(nfa_.rules[rule].start);
  }

  Nfa& nfa_;
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

void analyze_nfa(Nfa& nfa, uint32_t root, Workspace& workspace, NfaAnalysis* analysis) {
  Analyzer(nfa, root, workspace, analysis).analyze();
}

}  // namespace sotto
