// Automata over numbers as they are written: "-?digits(.digits)?".
#pragma once

#include "runtime/grammar/regex/automaton.h"
#include "runtime/grammar/json_schema/schema_decimal.h"

namespace sotto {

enum class NumberShape : uint8_t { kNumber, kInteger, kFraction };

// The numbers without exponent; zero has no sign, an integer no fraction, a fraction one that
// is not zero.
bool automaton_of_shape(NumberShape shape, Workspace& workspace, CharacterAutomaton* automaton);

// Of numbers of that form, those up to (upper) or from `bound` on. False: too many digits.
bool automaton_of_bound(const Decimal& bound, bool upper, bool exclusive, Workspace& workspace,
                        CharacterAutomaton* automaton);

// The multiples of a positive number. False: it has too many digits.
bool automaton_of_multiples(const Decimal& divisor, Workspace& workspace, CharacterAutomaton* automaton);

}  // namespace sotto
