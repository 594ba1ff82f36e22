// Deterministic automata over code points, as tables.
//
// Patterns, lengths and lists of words become automata where several of them apply to the same text. Examples are
// "pattern" and "maxLength" of one JSON string, the names that "patternProperties" leaves to "additionalProperties",
// and the bounds of a number. The product of the automata accepts exactly what all of them allow. Code points that no
// automaton distinguishes have the same class, so a table has one column per class.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/grammar/automata/dfa.h"

namespace sotto {

struct CharacterAutomaton {
  // The code points from `first` to the beginning of the next range belong to one class.
  struct Range {
    uint32_t first;
    uint32_t kind;
  };
  static constexpr uint32_t kDead = UINT32_MAX;

  std::span<const Range> ranges;  // the first range begins at 0
  uint32_t class_count = 0;
  uint32_t state_count = 0;        // 0 for the empty language; state 0 is the start
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

// Each function below returns false if the automaton would be too large or the workspace is exhausted.
inline constexpr uint32_t kMaxAutomatonStates = 20000;

// Accepts texts of minimum to maximum code points; kUnbounded means no maximum.
bool automaton_of_length(uint32_t minimum, uint32_t maximum, Workspace& workspace, CharacterAutomaton* automaton);
bool automaton_of_words(std::span<const std::string_view> words, Workspace& workspace, CharacterAutomaton* automaton);
// Accepts the texts that both accept. A negated automaton counts as accepting what it does not accept.
bool intersect_automata(const CharacterAutomaton& a, bool negate_a, const CharacterAutomaton& b, bool negate_b,
                        Workspace& workspace, CharacterAutomaton* automaton);
// Removes states from which no text is accepted, and joins equivalent states.
bool minimize_automaton(const CharacterAutomaton& automaton, Workspace& workspace, CharacterAutomaton* minimized);

// Makes the minimal table of a DFA whose symbols are the classes of `ranges`. Releases what was taken from the
// workspace since its size was `mark`, which may include the DFA and the ranges.
bool make_table(Dfa& dfa, std::span<const CharacterAutomaton::Range> ranges, uint32_t class_count, size_t mark,
                Workspace& workspace, CharacterAutomaton* automaton);

}  // namespace sotto
