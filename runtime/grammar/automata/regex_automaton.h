// Deterministic automata over code points: what patterns become where they meet other
// patterns, lengths or lists of words.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/grammar/regex/regex_tree.h"

namespace sotto {

struct CharacterAutomaton {
  // The characters from `first` up to the next range's belong to one class.
  struct Range {
    uint32_t first;
    uint32_t kind;
  };
  static constexpr uint32_t kDead = UINT32_MAX;

  std::span<const Range> ranges;  // the first begins at 0
  uint32_t class_count = 0;
  uint32_t state_count = 0;        // 0: the empty language; state 0 is the start
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

// Each of these returns false if the automaton would be too large or memory ends.
inline constexpr uint32_t kMaxAutomatonStates = 20000;

// search: what contains a match; otherwise what is a match as a whole.
bool automaton_of_regex(const RegexTree& tree, bool search, Workspace& workspace, CharacterAutomaton* automaton);
// Texts of minimum to maximum code points.
bool automaton_of_length(uint32_t minimum, uint32_t maximum, Workspace& workspace, CharacterAutomaton* automaton);
bool automaton_of_words(std::span<const std::string_view> words, Workspace& workspace, CharacterAutomaton* automaton);
// What both accept; or, where negated, what the one does not accept.
bool intersect_automata(const CharacterAutomaton& a, bool negate_a, const CharacterAutomaton& b, bool negate_b,
                        Workspace& workspace, CharacterAutomaton* automaton);
// Leaves out states from which nothing is accepted and joins those that are alike.
bool minimize_automaton(const CharacterAutomaton& automaton, Workspace& workspace, CharacterAutomaton* minimized);

}  // namespace sotto
