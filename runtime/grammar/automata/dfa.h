// Deterministic finite automata: the subset construction builds them from an NFA; the minimization merges equivalent
// states.
//
// A DFA is a list of edges instead of a table, because most states have only a few edges. Symbols are consecutive
// numbers, assigned by the owner of an alphabet so that every label of the NFA covers whole symbols. A grammar has
// classes of bytes, classes of tokens, and one symbol for each called rule (compiler/rule_nfa.h); a regular expression
// has classes of code points (regex/automaton.cpp).
//
// The subset construction is by Rabin and Scott ("Finite Automata and Their Decision Problems", 1959): a state of the
// DFA is the set of NFA states that an input can reach. Sets are closed under epsilon edges. States that read no symbol
// are then dropped, so that equal languages more often have equal sets. The minimization is by Valmari and Lehtinen
// ("Efficient Minimization of DFAs with Partial Transition Functions", 2008).
//
// Example: after the first character, the NFA of ab|ac|db|dc has four states, one per alternative. The subset
// construction makes two states of them, one after a and one after d. The same strings may follow both, so the
// minimization merges them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "runtime/base/sort.h"
#include "runtime/grammar/automata/code_points.h"
#include "runtime/grammar/automata/interned_sets.h"
#include "runtime/grammar/automata/nfa.h"

namespace sotto {

// An edge that reads one symbol.
struct DfaEdge {
  uint32_t from;
  uint32_t symbol;
  uint32_t to;
};

// A deterministic finite automaton. State 0 is the start.
struct Dfa {
  explicit Dfa(Workspace& workspace) : finals(workspace), edges(workspace) {}
  void clear() {
    finals.truncate(0);
    edges.truncate(0);
  }
  uint32_t state_count() const { return finals.size(); }

  GrowingArray<uint8_t> finals;  // one per state
  GrowingArray<DfaEdge> edges;
};

// Builds DFAs. The class Alphabet must have a member `template <typename Visit> void each_symbols(const NfaEdge& edge,
// Visit visit) const`, which calls visit(Interval) for each interval of symbols of an edge. A builder can build several
// automata in succession in the same memory.
template <typename Alphabet>
class SubsetConstruction {
 public:
  // Limits beyond which determinize() gives up.
  struct Limits {
    uint64_t states;
    uint64_t members = UINT64_MAX;  // total number of members in all sets
  };

  SubsetConstruction(const Nfa& nfa, const Alphabet& alphabet, Workspace& workspace)
      : nfa_(nfa),
        alphabet_(alphabet),
        workspace_(workspace),
        visited_(workspace),
        stack_(workspace),
        closure_(workspace),
        sets_(workspace),
        steps_(workspace) {
    visited_.resize(nfa.states.size());
  }

  // Declares that the NFA has anchors: edges that can be taken only at the beginning or the end of the text.
  void set_anchored() { is_anchored_ = true; }
  // Declares that any text may follow the exit.
  void set_absorbing() { is_absorbing_ = true; }

  // Builds the DFA of the part between `start` and `exit`. Returns false if it would exceed the limits; `dfa` is then
  // undefined.
  bool determinize(uint32_t start, uint32_t exit, const Limits& limits, Dfa* dfa) {
    begin(start, exit, dfa);
    for (uint32_t state = 0; state < sets_.count() && !workspace_.exhausted(); ++state) {
      if (sets_.count() > limits.states || sets_.item_count() > limits.members) return false;
      collect_steps(state);
      add_edges(state, dfa);
    }
    return true;
  }

  // Builds the same automaton without epsilon edges, but not deterministic: a state may have several edges with the
  // same symbol.
  void remove_epsilons(uint32_t start, uint32_t exit, Dfa* dfa) {
    begin(start, exit, dfa);
    for (uint32_t state = 0; state < sets_.count() && !workspace_.exhausted(); ++state) {
      collect_steps(state);
      for (size_t i = 0; i < steps_.size() && !workspace_.exhausted(); ++i) {
        close(steps_.span(i, 1), false);
        // Each member becomes a state. The closure is needed to find these states, so the stack keeps the members.
        for (const uint32_t member : closure_.span()) stack_.push(member);
        while (!stack_.empty()) {
          closure_.truncate(0);
          closure_.push(stack_.back());
          stack_.pop();
          dfa->edges.push({state, symbol_of(steps_[i]), state_of_closure(dfa)});
        }
      }
    }
  }

 private:
  // A step is an edge of the NFA restricted to one symbol, encoded as symbol << 32 | target.
  static uint32_t symbol_of(uint64_t step) { return static_cast<uint32_t>(step >> 32); }

  void begin(uint32_t start, uint32_t exit, Dfa* dfa) {
    dfa->clear();
    sets_.clear();
    exit_ = exit;
    const uint64_t step = start;
    close({&step, 1}, true);
    if (!is_anchored_) {
      state_of_closure(dfa);
      return;
    }
    // The start never shares its state with an equal set that is reached later, because the text does not begin there.
    dfa->finals.push(is_final(true));
    sets_.append_unshared(closure_.span());
  }

  void visit(uint32_t state) {
    if (visited_[state] == round_) return;
    visited_[state] = round_;
    stack_.push(state);
  }

  // Replaces the closure by the states that the targets reach through epsilon edges. States with no edge that reads a
  // symbol are left out.
  void close(std::span<const uint64_t> steps, bool at_begin) {
    ++round_;
    closure_.truncate(0);
    for (const uint64_t step : steps) visit(static_cast<uint32_t>(step));
    while (!stack_.empty()) {
      const uint32_t state = stack_.back();
      stack_.pop();
      bool matters = state == exit_;
      for (uint32_t e = nfa_.states[state].first_edge; e != 0; e = nfa_.edges[e].next) {
        const NfaEdge& edge = nfa_.edges[e];
        if (edge.label == NfaLabel::kEpsilon || (edge.label == NfaLabel::kTextBegin && at_begin)) {
          visit(edge.target);
        } else if (edge.label != NfaLabel::kRemoved && edge.label != NfaLabel::kTextBegin) {
          matters = true;
        }
      }
      if (matters) closure_.push(state);
    }
    if (is_absorbing_ && visited_[exit_] == round_) {
      closure_.truncate(0);
      closure_.push(exit_);
    }
    sort_numbers(closure_.begin(), closure_.end());
  }

  // Returns whether the text may end in a state of the closure.
  uint8_t is_final(bool at_begin) {
    const auto set = closure_.span();
    if (!is_anchored_) return std::find(set.begin(), set.end(), exit_) != set.end() ? 1 : 0;
    ++round_;
    for (const uint32_t state : set) visit(state);
    while (!stack_.empty()) {
      const uint32_t state = stack_.back();
      stack_.pop();
      for (uint32_t e = nfa_.states[state].first_edge; e != 0; e = nfa_.edges[e].next) {
        const NfaLabel label = nfa_.edges[e].label;
        const bool passes =
            label == NfaLabel::kEpsilon || label == NfaLabel::kTextEnd || (label == NfaLabel::kTextBegin && at_begin);
        if (passes) visit(nfa_.edges[e].target);
      }
    }
    return visited_[exit_] == round_ ? 1 : 0;
  }

  uint32_t state_of_closure(Dfa* dfa) {
    const uint32_t before = sets_.count();
    const uint32_t state = sets_.intern(closure_.span());
    if (sets_.count() != before) dfa->finals.push(is_final(false));
    return state;
  }

  void collect_steps(uint32_t state) {
    steps_.truncate(0);
    for (const uint32_t member : sets_[state]) {
      for (uint32_t e = nfa_.states[member].first_edge; e != 0; e = nfa_.edges[e].next) {
        const NfaEdge& edge = nfa_.edges[e];
        alphabet_.each_symbols(edge, [&](Interval symbols) {
          for (uint64_t symbol = symbols.first; symbol <= symbols.last; ++symbol) {
            steps_.push(symbol << 32 | edge.target);
          }
        });
      }
    }
    sort_numbers(steps_.begin(), steps_.end());
    const auto* end = std::unique(steps_.begin(), steps_.end());
    steps_.truncate(static_cast<size_t>(end - steps_.begin()));
  }

  // Adds one edge per symbol, which leads to the closure of the symbol's targets. Neighbouring symbols often have the
  // same targets, whose closure is then computed only once.
  void add_edges(uint32_t state, Dfa* dfa) {
    const auto same_targets = [&](size_t a, size_t b, size_t count) {
      for (size_t i = 0; i < count; ++i) {
        if (static_cast<uint32_t>(steps_[a + i]) != static_cast<uint32_t>(steps_[b + i])) return false;
      }
      return true;
    };
    size_t previous = 0;
    size_t previous_count = 0;
    bool leads_on = false;
    uint32_t target = 0;
    for (size_t i = 0; i < steps_.size();) {
      size_t end = i;
      while (end < steps_.size() && symbol_of(steps_[end]) == symbol_of(steps_[i])) ++end;
      if (end - i != previous_count || !same_targets(i, previous, previous_count)) {
        close(steps_.span(i, end - i), false);
        leads_on = !closure_.empty();
        if (leads_on) target = state_of_closure(dfa);
        previous = i;
        previous_count = end - i;
      }
      if (leads_on) dfa->edges.push({state, symbol_of(steps_[i]), target});
      i = end;
    }
  }

  const Nfa& nfa_;
  const Alphabet& alphabet_;
  Workspace& workspace_;
  GrowingArray<uint32_t> visited_;  // for each NFA state, the round of its last visit
  GrowingArray<uint32_t> stack_;
  GrowingArray<uint32_t> closure_;
  InternedSets sets_;  // for each state of the DFA, its set of NFA states
  GrowingArray<uint64_t> steps_;
  uint32_t round_ = 0;
  uint32_t exit_ = 0;
  bool is_anchored_ = false;
  bool is_absorbing_ = false;
};

// Merges equivalent states. A final state must be reachable from every state.
class Minimizer {
 public:
  explicit Minimizer(Workspace& workspace);
  void minimize(Dfa* dfa);
  // For every state, writes the number of its block of equivalent states or, if the state is not live, kUnnumbered.
  // Blocks are numbered in the order of their first states. Returns the number of blocks, or 0 if the memory is
  // exhausted or no state is live.
  static constexpr uint32_t kUnnumbered = UINT32_MAX;
  uint32_t number_blocks(const Dfa& dfa, std::span<const uint8_t> live, uint32_t* numbers);

 private:
  // A partition of the numbers 0 to count - 1 into sets. Marking elements refines it.
  class Partition {
   public:
    explicit Partition(Workspace& workspace);
    bool init(uint32_t count);
    void mark(uint32_t element);
    // Separates the marked elements of each set from the others.
    void split();

    uint32_t set_count = 0;
    GrowingArray<uint32_t> elements;
    GrowingArray<uint32_t> location;
    GrowingArray<uint32_t> set_of;
    GrowingArray<uint32_t> first;
    GrowingArray<uint32_t> past;
    GrowingArray<uint32_t> marked;
    GrowingArray<uint32_t> touched;
  };

  bool init(const Dfa& dfa);
  void refine(const Dfa& dfa);
  void rewrite(Dfa* dfa);

  Partition blocks_;  // partition of the states
  Partition cords_;   // partition of the edges
  GrowingArray<uint32_t> incoming_first_;
  GrowingArray<uint32_t> incoming_;
};

// Removes all edges to dead states, from which no final state can be reached. Sets `live` to 0 for dead states, and to
// 1 for all others. Returns false if the workspace is exhausted.
bool remove_dead_ends(Dfa* dfa, Workspace& workspace, GrowingArray<uint8_t>* live);

}  // namespace sotto
