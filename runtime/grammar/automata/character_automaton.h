// Deterministic automata over code points, stored as tables.
//
// Such automata combine several conditions on one string: "pattern" and "maxLength" of a JSON string, the bounds and
// multiples of a number, or the names that "patternProperties" leaves to "additionalProperties". The product of the
// automata accepts exactly the strings that all of them accept. Code points that no automaton distinguishes share a
// class, so a table needs only one column per class.
//
// Example: the product of the automata of "pattern": "^[ab]*$" and "maxLength": 2 accepts the empty string, a, b, aa,
// ab, ba and bb. It has two classes: a and b, and all other code points.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/grammar/automata/dfa.h"

namespace sotto {

struct CharacterAutomaton {
  // All code points from `first` up to the start of the next range belong to one class.
  struct Range {
    uint32_t first;
    uint32_t kind;
  };
  static constexpr uint32_t kDead = UINT32_MAX;

  std::span<const Range> ranges;  // the first range starts at 0
  uint32_t class_count = 0;
  uint32_t state_count = 0;        // 0 for the empty language; the start is state 0
  const uint32_t* next = nullptr;  // (state, class)
  const uint8_t* accepts = nullptr;

  Interval characters(size_t range) const {
    const bool is_last = range + 1 == ranges.size();
    return {ranges[range].first, is_last ? kMaxCodePoint : ranges[range + 1].first - 1};
  }
  uint32_t class_of(uint32_t code_point) const;
  bool matches(std::string_view text) const;
  uint32_t step(uint32_t state, uint32_t kind) const { return next[state * class_count + kind]; }
};

// The functions below return false if the automaton would become too large or the workspace is exhausted.
inline constexpr uint32_t kMaxAutomatonStates = 20000;

// Accepts strings with at least `minimum` and at most `maximum` code points. kUnbounded means that there is no maximum.
bool automaton_of_length(uint32_t minimum, uint32_t maximum, Workspace& workspace, CharacterAutomaton* automaton);
bool automaton_of_words(std::span<const std::string_view> words, Workspace& workspace, CharacterAutomaton* automaton);
// Accepts the strings that both automata accept. A negated automaton counts as its complement.
bool intersect_automata(const CharacterAutomaton& a, bool negate_a, const CharacterAutomaton& b, bool negate_b,
                        Workspace& workspace, CharacterAutomaton* automaton, uint32_t max_states = kMaxAutomatonStates);
// Removes states that lead to no final state, and merges equivalent states.
bool minimize_automaton(const CharacterAutomaton& automaton, Workspace& workspace, CharacterAutomaton* minimized);

// Converts a DFA over the classes of `ranges` to a minimal table. Releases all memory of the workspace
// after `mark`, which may include the DFA and the ranges.
bool make_table(Dfa& dfa, std::span<const CharacterAutomaton::Range> ranges, uint32_t class_count, size_t mark,
                Workspace& workspace, CharacterAutomaton* automaton);

}  // namespace sotto
