// From JSON Schema to rules.
//
// A goal (expansion.h) that some value must satisfy becomes one rule; equal goals share it, so recursive schemas become
// recursive rules. For each type of JSON value the goal is expanded to alternatives, and the builder for that type
// turns each alternative into an expression. Values inside arrays and objects are goals again: a worklist, not
// recursion.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/grammar/automata/interned_sets.h"
#include "runtime/grammar/json_schema/expansion.h"
#include "runtime/grammar/json_schema/json_grammar.h"
#include "runtime/grammar/json_schema/string.h"

namespace sotto {

class SchemaCompiler {
 public:
  SchemaCompiler(const JsonDocument& document, const SchemaOptions& options, GrammarBuilder& builder, Error* error)
      : schema_(document, options, builder.workspace(), error),
        document_(document),
        builder_(builder),
        workspace_(builder.workspace()),
        json_(builder, options.style),
        expansion_(schema_),
        patterns_(schema_),
        goals_(workspace_),
        goal_rules_(workspace_) {}

  // Makes the expression of the values of `schema`, a node of the document.
  Status compile(uint32_t schema, uint32_t* expression);

  // For the builders of each type.
  const Schema& schema() const { return schema_; }
  GrammarBuilder& builder() { return builder_; }
  JsonGrammar& json() { return json_; }
  Expansion& expansion() { return expansion_; }
  Patterns& patterns() { return patterns_; }
  enum class Goal : uint8_t { kNever, kAny, kRule };
  // Removes what is always true and sorts the rest.
  Goal normalize(GrowingArray<Literal>& literals);
  // Returns the expression of a value that satisfies all literals, which are used up.
  uint32_t value(GrowingArray<Literal>& literals);

 private:
  Status body(uint32_t goal, uint32_t* expression);
  Status alternatives_of_references(uint32_t schema, uint32_t* expression);
  Status build(JsonType type, Atoms atoms, uint32_t* expression);

  Schema schema_;
  const JsonDocument& document_;
  GrammarBuilder& builder_;
  Workspace& workspace_;
  JsonGrammar json_;
  Expansion expansion_;
  Patterns patterns_;
  InternedSets goals_;  // of (node, kind and negation) pairs
  GrowingArray<uint32_t> goal_rules_;
};

// The builders of each type make the expression of the values that satisfy all atoms; kNoIndex: there is no such value.
Status build_number(SchemaCompiler& compiler, Atoms atoms, uint32_t* expression);
Status build_string(SchemaCompiler& compiler, Atoms atoms, uint32_t* expression);
Status build_array(SchemaCompiler& compiler, Atoms atoms, uint32_t* expression);
Status build_object(SchemaCompiler& compiler, Atoms atoms, uint32_t* expression);

}  // namespace sotto
