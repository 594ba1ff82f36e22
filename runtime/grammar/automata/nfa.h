// Rules as nondeterministic automata over bytes, tokens and calls of other rules, all in one
// pool of states.
#pragma once

#include <cstdint>

#include "runtime/base/status.h"
#include "runtime/grammar/compiler/grammar_builder.h"

namespace sotto {

enum class NfaLabel : uint8_t {
  kEpsilon,
  kByte,    // one of lo..hi
  kTokens,  // value: an expression with intervals
  kCall,    // value: a rule
  kLoop,    // value: a loop
  kRemoved,
};

struct NfaEdge {
  NfaLabel label;
  uint8_t lo;
  uint8_t hi;
  uint32_t value;
  uint32_t target;
  uint32_t next;  // edge of the same state; 0: none
};

struct NfaState {
  uint32_t first_edge;  // 0: none
  uint32_t exit_of;     // rule + 1 that ends here; 0: none
};

// Calls of `rule`, counted.
struct Loop {
  uint32_t rule;
  uint32_t minimum;
  uint32_t maximum;  // kUnbounded: no limit
};

struct RuleAutomaton {
  uint32_t start;
  uint32_t exit;
};

struct Nfa {
  explicit Nfa(Workspace& workspace) : states(workspace), edges(workspace), loops(workspace), rules(workspace) {
    states.push({});
    edges.push({});
  }

  uint32_t add_state() { return states.push({0, 0}); }
  void add_edge(uint32_t from, NfaLabel label, uint32_t value, uint32_t target) {
    link(from, {label, 0, 0, value, target, 0});
  }
  void add_bytes(uint32_t from, uint8_t lo, uint8_t hi, uint32_t target) {
    link(from, {NfaLabel::kByte, lo, hi, 0, target, 0});
  }
  void link(uint32_t from, NfaEdge edge) {
    edge.next = states[from].first_edge;
    const uint32_t index = edges.push(edge);
    if (index != 0) states[from].first_edge = index;
  }

  GrowingArray<NfaState> states;  // 0: unused
  GrowingArray<NfaEdge> edges;    // 0: unused
  GrowingArray<Loop> loops;
  GrowingArray<RuleAutomaton> rules;
};

// Adds an automaton for every rule of the builder. A repetition that takes more than
// `unrolled_states` becomes a loop, whose body is a rule added to the builder.
void build_nfa(GrammarBuilder& builder, uint32_t unrolled_states, Nfa& nfa);

}  // namespace sotto
