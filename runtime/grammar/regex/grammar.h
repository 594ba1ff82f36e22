// Converts regular expressions and character automata to rules of a grammar. Characters are written as they are, or as
// in JSON strings.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/grammar/automata/interned_sets.h"
#include "runtime/grammar/compiler/grammar_builder.h"
#include "runtime/grammar/regex/automaton.h"

namespace sotto {

// The notation of characters in the text of the grammar.
enum class CharacterForm : uint8_t {
  kRaw,
  // The characters of a JSON string, each in one form only: as it is, or else as a short escape (\" \\ \b \f \n \r \t),
  // or else as \u00XX with hexadecimal digits of either case.
  kJsonString,
};

class RegexGrammar {
 public:
  RegexGrammar(GrammarBuilder& builder, CharacterForm form);

  // Matches one of the characters in sorted intervals, or nothing if there are none.
  uint32_t characters(std::span<const Interval> intervals);
  // Matches the text itself.
  uint32_t text(std::string_view text);
  // Matches a regular expression as a whole or, with `search`, any text that contains a match. Returns kNoIndex if only
  // an automaton can express it, because it has look-ahead, word boundaries, or anchors at certain places.
  uint32_t regex(const RegexTree& tree, bool search);
  uint32_t automaton(const CharacterAutomaton& automaton);
  // Matches nothing.
  uint32_t never();

 private:
  // The characters that lead from one state to another.
  struct Arc {
    uint32_t target;
    Interval characters;
  };

  uint32_t json_characters(std::span<const Interval> intervals);
  uint32_t state(const CharacterAutomaton& automaton, uint32_t state, const uint32_t* rules, const uint32_t* bodies);
  uint32_t rest(const CharacterAutomaton& automaton, uint32_t state);
  uint32_t characters_between(const CharacterAutomaton& automaton, uint32_t from, uint32_t to);
  void join(Interval characters);
  uint32_t alternative(const RegexTree& tree, uint32_t node, bool search);
  uint32_t body(const RegexTree& tree, uint32_t root);
  uint32_t anything();

  GrammarBuilder& builder_;
  CharacterForm form_;
  InternedSets shared_;  // sets of characters that have a rule
  GrowingArray<uint32_t> shared_rules_;
  GrowingArray<Arc> arcs_;  // edges of the current state
  GrowingArray<Interval> intervals_;
  uint32_t never_ = kNoIndex;
};

// Sets `*expression` to an expression of the strings that match the pattern as a whole.
Status build_regex(std::span<const char> pattern, GrammarBuilder& builder, uint32_t* expression, Error* error);
// Defines the rule `name` as the strings that match the pattern as a whole.
Status build_regex_grammar(std::span<const char> pattern, std::span<const char> name, GrammarBuilder& builder,
                           Error* error);

}  // namespace sotto
