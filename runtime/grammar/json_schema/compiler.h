// Compiles a JSON Schema to the rules of a grammar.
//
// The unit of work is a goal (expansion.h): a set of schemas, keywords and values that one JSON value must satisfy
// together. Each goal becomes one rule, in three steps:
//   1. For each of the seven types of JSON values, the goal is expanded to alternatives: schemas are replaced by their
//      keywords for this type, and combinations such as anyOf and not are resolved.
//   2. The builder of the type turns each alternative into an expression: number.cpp and string.cpp by products of
//      automata, array.cpp and object.cpp by sequences of the elements or members.
//   3. The rule is the choice between these expressions. If all values of a type satisfy the goal, it is the rule for
//      any value of that type (json_grammar.h).
// The values inside arrays and objects are goals themselves. A table of goals ensures that equal goals share a rule, so
// a recursive schema becomes recursive rules. The same table is the worklist of new goals, so the compiler does not
// recurse.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/grammar/automata/interned_sets.h"
#include "runtime/grammar/json_schema/expansion.h"
#include "runtime/grammar/json_schema/json_grammar.h"
#include "runtime/grammar/json_schema/patterns.h"

namespace sotto {

class SchemaCompiler {
 public:
  SchemaCompiler(const JsonDocument& document, const GrammarParams& options, GrammarBuilder& builder, Error* error)
      : schema_(document, options, builder.workspace(), error),
        document_(document),
        builder_(builder),
        workspace_(builder.workspace()),
        json_(builder, options),
        patterns_(schema_),
        expansion_(schema_, patterns_),
        goals_(workspace_),
        goal_rules_(workspace_),
        goal_literals_(workspace_),
        pairs_(workspace_),
        pair_rules_(workspace_) {}

  // Builds the expression of the values that satisfy `schema`, a node of the document.
  Status compile(uint32_t schema, uint32_t* expression);

  // The functions below serve the builders of each type.
  const Schema& schema() const { return schema_; }
  GrammarBuilder& builder() { return builder_; }
  JsonGrammar& json() { return json_; }
  Expansion& expansion() { return expansion_; }
  Patterns& patterns() { return patterns_; }
  enum class Goal : uint8_t { kNever, kAny, kRule };
  // Removes repeated conditions and conditions that are always true.
  Goal normalize(GrowingArray<Literal>& literals);
  // Returns a reference to the rule of the values that satisfy all literals. Consumes the list.
  uint32_t value(GrowingArray<Literal>& literals);
  // Returns the rule of the pair of a name and a value.
  uint32_t pair(std::string_view name, uint32_t value);

 private:
  // The rule of a goal, and its literals in the order of the document.
  struct GoalRule {
    uint32_t rule;
    uint32_t first;
    uint32_t count;
  };

  Status body(uint32_t goal, uint32_t* expression);
  Status alternatives_of_references(uint32_t schema, uint32_t* expression);
  Status build(JsonType type, Atoms atoms, uint32_t* expression);

  Schema schema_;
  const JsonDocument& document_;
  GrammarBuilder& builder_;
  Workspace& workspace_;
  JsonGrammar json_;
  Patterns patterns_;
  Expansion expansion_;
  InternedSets goals_;  // interned goals, as sorted (node, kind and negation) pairs
  GrowingArray<GoalRule> goal_rules_;
  GrowingArray<Literal> goal_literals_;
  InternedSets pairs_;  // the rule of the value, then the bytes of the name
  GrowingArray<uint32_t> pair_rules_;
};

// The builders of each type return the expression of the values that satisfy all atoms, or kNoIndex if there is none.
Status build_number(SchemaCompiler& compiler, Atoms atoms, uint32_t* expression);
Status build_string(SchemaCompiler& compiler, Atoms atoms, uint32_t* expression);
Status build_array(SchemaCompiler& compiler, Atoms atoms, uint32_t* expression);
Status build_object(SchemaCompiler& compiler, Atoms atoms, uint32_t* expression);

// Builds the automaton of the strings that satisfy the schema of "propertyNames".
Status names_automaton(SchemaCompiler& compiler, uint32_t schema, CharacterAutomaton* automaton);

}  // namespace sotto
