// Strings of JSON Schema: patterns and formats as automata.
#pragma once

#include "runtime/grammar/json_schema/schema.h"
#include "runtime/grammar/regex/automaton.h"

namespace sotto {

class SchemaCompiler;

// The patterns of a document, which are "pattern", "format", and the names of members of "patternProperties".
class Patterns {
 public:
  explicit Patterns(const Schema& schema)
      : schema_(schema), document_(schema.document()), workspace_(schema.workspace()), known_(workspace_) {}

  Status parse(uint32_t node, RegexTree& tree) const;
  // Makes the automaton of the strings that match. Each automaton is made only once.
  Status automaton(uint32_t node, CharacterAutomaton* automaton);

 private:
  struct Known {
    uint32_t node;
    CharacterAutomaton automaton;
  };

  const Schema& schema_;
  const JsonDocument& document_;
  Workspace& workspace_;
  GrowingArray<Known> known_;
};

// Makes the automaton of the strings that satisfy the schema of "propertyNames".
Status names_automaton(SchemaCompiler& compiler, uint32_t schema, CharacterAutomaton* automaton);

}  // namespace sotto
