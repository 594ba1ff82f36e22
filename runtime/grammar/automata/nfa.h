// Nondeterministic finite automata with epsilon edges. One pool contains all states of a grammar or of a pattern.
//
// The rules of a grammar (compiler/rule_nfa.h) and regular expressions (regex/automaton.h) use the same structure with
// different labels. The owner of an alphabet defines which symbols a label stands for; see SubsetConstruction in dfa.h.
#pragma once

#include <cstdint>

#include "runtime/base/workspace.h"

namespace sotto {

// The input of an edge.
enum class NfaLabel : uint8_t {
  kEpsilon,
  kByte,        // reads a byte from lo to hi
  kTokens,      // reads a token; `value` is an expression with intervals of tokens
  kCall,        // reads a string of a rule; `value` is the rule
  kLoop,        // reads the repetitions of a loop; `value` is the loop
  kCharacters,  // reads a code point; `value` is a set of code points
  kTextBegin,   // reads nothing; can be taken only at the beginning of the text
  kTextEnd,     // reads nothing; can be taken only at the end of the text
  // The edges below read nothing. Only patterns have them (regex/automaton.cpp).
  kWordBoundary,    // can be taken between a word character and another character or a border of the text
  kNoWordBoundary,  // can be taken everywhere else
  kLookAhead,       // can be taken where the look-ahead `value` holds
  kRemoved,
};

// An edge. The edges of a state are a linked list.
struct NfaEdge {
  NfaLabel label;
  uint8_t lo;
  uint8_t hi;
  uint32_t value;
  uint32_t target;
  uint32_t next;  // next edge of the same state, or 0
};

// A state. It may be the exit of a rule.
struct NfaState {
  uint32_t first_edge;  // 0 if there is none
  uint32_t exit_of;     // number of the rule that ends here plus 1, or 0
};

// The states and edges of all automata of an owner.
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

  GrowingArray<NfaState> states;  // element 0 is unused
  GrowingArray<NfaEdge> edges;    // element 0 is unused

 private:
  void link(uint32_t from, NfaEdge edge) {
    edge.next = states[from].first_edge;
    const uint32_t index = edges.push(edge);
    if (index != 0) states[from].first_edge = index;
  }
};

}  // namespace sotto
