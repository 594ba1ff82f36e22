// From a regular expression to its deterministic automaton.
#pragma once

#include "runtime/grammar/automata/character_automaton.h"
#include "runtime/grammar/regex/parser.h"

namespace sotto {

// search: the automaton accepts every text that contains a match, otherwise the texts that match as a whole. Returns
// false if it would be too large or the workspace is exhausted.
bool automaton_of_regex(const RegexTree& tree, bool search, Workspace& workspace, CharacterAutomaton* automaton);

}  // namespace sotto
