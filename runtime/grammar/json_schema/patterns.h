// The patterns of a JSON Schema as regular expressions and as automata.
#pragma once

#include <cstdint>

#include "runtime/grammar/json_schema/schema.h"
#include "runtime/grammar/regex/automaton.h"

namespace sotto {

// The patterns of a document: "pattern", "format", and the member names of "patternProperties".
class Patterns {
 public:
  explicit Patterns(const Schema& schema)
      : schema_(schema), document_(schema.document()), workspace_(schema.workspace()), known_(workspace_) {}

  Status parse(uint32_t node, RegexTree& tree) const;
  // Returns the automaton of the strings that match. Each automaton is built only once.
  Status automaton(uint32_t node, CharacterAutomaton* automaton);

 private:
  // A pattern whose automaton has been built.
  struct Known {
    uint32_t node;
    CharacterAutomaton automaton;
  };

  const Schema& schema_;
  const JsonDocument& document_;
  Workspace& workspace_;
  GrowingArray<Known> known_;
};

}  // namespace sotto
