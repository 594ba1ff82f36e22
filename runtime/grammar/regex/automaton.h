// Converts a regular expression to a deterministic automaton: Thompson's construction (1968) makes an NFA, and the
// subset construction makes it deterministic. A look-ahead depends on the text after it. A pattern with look-ahead or
// word boundaries is therefore built by reading texts backwards: this text then comes first (automaton.cpp).
#pragma once

#include "runtime/grammar/automata/character_automaton.h"
#include "runtime/grammar/regex/parser.h"

namespace sotto {

// Builds the automaton of the strings that match as a whole or, with `search`, of the strings that contain a match.
// Returns false if it would become too large or the workspace is exhausted.
bool automaton_of_regex(const RegexTree& tree, bool search, Workspace& workspace, CharacterAutomaton* automaton);

}  // namespace sotto
