// Nondeterministic finite automata with epsilon edges, all states of a grammar or of a pattern in one pool.
//
// Rules of a grammar (compiler/rule_nfa.h) and regular expressions (regex/automaton.h) use the same structure with
// different labels. What the labels stand for as symbols of an alphabet is the business of the owner of that alphabet:
// see SubsetConstruction in dfa.h.
#pragma once

#include <cstdint>

#include "runtime/base/workspace.h"

namespace sotto {

enum class NfaLabel : uint8_t {
  kEpsilon,
  kByte,        // one of lo..hi
  kTokens,      // value: an expression with intervals
  kCall,        // value: a rule
  kLoop,        // value: a loop
  kCharacters,  // value: a set of code points
  kTextBegin,   // passes only at the beginning of the text
  kTextEnd,     // passes only at its end
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

struct Nfa {
  explicit Nfa(Workspace& workspace) : states(workspace), edges(workspace) {
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

  GrowingArray<NfaState> states;  // 0: unused
  GrowingArray<NfaEdge> edges;    // 0: unused

 private:
  void link(uint32_t from, NfaEdge edge) {
    edge.next = states[from].first_edge;
    const uint32_t index = edges.push(edge);
    if (index != 0) states[from].first_edge = index;
  }
};

}  // namespace sotto
