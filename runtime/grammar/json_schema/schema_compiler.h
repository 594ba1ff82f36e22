// From JSON Schema to rules. A goal is a set of literals (a schema, a keyword, a value; or its
// negation) that one value must satisfy; each distinct goal becomes one rule. For each type of
// JSON value a goal is expanded to alternatives, each a list of keywords ("atoms") to be met
// together, which the builder for that type turns into an expression.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/grammar/automata/interned_sets.h"
#include "runtime/grammar/json_schema/json_schema.h"
#include "runtime/grammar/json_schema/schema_keywords.h"

namespace sotto {

enum class LiteralKind : uint8_t {
  kSchema,
  kEquals,   // the value `node`
  kKeyword,  // the member `node` of a schema
  // The rest arise in expansion only.
  kInteger,
  kNames,       // properties of the names in the array `node` are there
  kDependency,  // if a property of the name of member `node` is there, `node` holds
  kGroup,       // "properties" and its companions in the schema `node`
  kPresent,     // a property of the name of member `node`
  kNamed,       // a property of the name of string `node`
  kProperty,    // the property named as member `node`, if there, satisfies the schema `node`
  kTuple,       // "items" and its companions in the schema `node`
  kContains,    // "contains" and its companions in the schema `node`
  kExists,      // some element satisfies the schema `node`, or, negated, does not
  kEvery,       // every element does
  kElement,     // the element of the index of `node` does, if there
  kLonger,      // there are more elements than the index of `node`
};

struct Literal {
  uint32_t node;
  LiteralKind kind;
  bool negated;

  bool operator==(const Literal&) const = default;
};

enum class Verdict : uint8_t { kFalse, kTrue, kOpen };

class SchemaCompiler {
 public:
  SchemaCompiler(const JsonDocument& schema, const SchemaOptions& options, GrammarBuilder& builder, Error* error);

  // The expression of the values of `schema`, a node of the document.
  Status compile(uint32_t schema, uint32_t* expression);

 private:
  using Atoms = std::span<const Literal>;
  using List = GrammarBuilder::List;

  // Alternatives that expansion yields: runs of literals.
  struct Alternatives {
    explicit Alternatives(Workspace& workspace) : literals(workspace), ends(workspace) {}
    Atoms operator[](uint32_t i) const {
      const uint32_t begin = i == 0 ? 0 : ends[i - 1];
      return literals.span(begin, ends[i] - begin);
    }
    GrowingArray<Literal> literals;
    GrowingArray<uint32_t> ends;
  };

  // Errors and general help, schema_compiler.cpp. A keyword is refused that no exact grammar
  // is known for, and rejected where it is used wrongly.
  Status refuse(uint32_t node, const char* what) { return fail_at_node(Status::kGrammarUnsupported, node, what); }
  Status reject(uint32_t node, const char* what) { return fail_at_node(Status::kGrammarSyntax, node, what); }
  Status fail_at_node(Status status, uint32_t node, const char* what);
  Status check_memory();
  Keyword keyword(uint32_t member) const;
  bool is_asserting(uint32_t member) const;
  uint32_t assertion(uint32_t schema, Keyword keyword) const;  // that member of a schema
  Status count_of(uint32_t node, uint32_t* count);
  std::string_view name_of(const Literal& literal) const;
  JsonType type_of(uint32_t value) const;
  bool same_value(uint32_t a, uint32_t b) const;  // false for arrays and objects

  // Goals.
  enum class Goal : uint8_t { kNever, kAny, kRule };
  Goal normalize(GrowingArray<Literal>& literals);
  // The expression for a value that satisfies all; `literals` is used up.
  uint32_t value(GrowingArray<Literal>& literals);
  Status body(uint32_t goal, uint32_t* expression);
  Status alternatives_of_references(uint32_t schema, uint32_t* expression);
  Status build(JsonType type, Atoms atoms, uint32_t* expression);

  // Expansion, schema_expand.cpp and schema_logic.cpp.
  struct Cell {
    Literal literal;
    uint32_t next;
  };
  struct Branch {
    uint32_t pending = kNone;
    uint32_t atoms = kNone;
    uint32_t seen = kNone;
    bool dead = false;
  };
  Status expand(std::span<const Literal> goal, JsonType type, Alternatives& alternatives);
  void push(uint32_t* list, Literal literal);
  void fork(const Branch& branch, std::span<const Literal> literals);
  void add_atom(Branch& branch, Literal literal);
  Status apply(Branch& branch, Literal literal);
  Status apply_schema(Branch& branch, Literal literal);
  Status apply_equals(Branch& branch, Literal literal);
  Status apply_keyword(Branch& branch, Literal literal);
  Status apply_all(Branch& branch, Literal literal, bool conjunction);
  Status apply_one(Branch& branch, Literal literal);
  Status apply_if(Branch& branch, Literal literal);
  Status apply_values(Branch& branch, Literal literal);
  Status apply_required(Branch& branch, Literal literal);
  Status apply_dependencies(Branch& branch, Literal literal);
  Status apply_dependency(Branch& branch, Literal literal);
  Status apply_properties(Branch& branch, Literal literal);
  Status apply_tuple(Branch& branch, Literal literal);
  // "items" and its companions: the schemas of the first elements, and that of the rest.
  struct Tuple {
    uint32_t list = kNone;
    uint32_t prefix = kNone;
    uint32_t count = 0;
    uint32_t rest = kNone;
  };
  Tuple tuple_of(uint32_t schema) const;
  // additionalProperties, or unevaluatedProperties where that means the same.
  uint32_t additional_of(uint32_t schema) const;
  bool is_seen_through(uint32_t schema) const;
  Status apply_contains(Branch& branch, Literal literal);
  Status verdict(uint32_t schema, Verdict* verdict);
  Status keyword_verdict(uint32_t member, Verdict* verdict);
  Status type_verdict(uint32_t member, Verdict* verdict);
  Status disjoint(uint32_t a, uint32_t b, bool* result);
  bool values_disjoint(uint32_t a, uint32_t b) const;
  bool requires_name(uint32_t schema, std::string_view name) const;
  Status properties_disjoint(uint32_t a, uint32_t b, bool* result);
  uint32_t finite_values(uint32_t schema, bool* is_list) const;

  // References, schema_reference.cpp.
  Status resolve(uint32_t member, uint32_t* target);
  Status skip_references(uint32_t* schema);
  uint32_t resource_of(uint32_t node) const;
  uint32_t identifier_of(uint32_t node) const;
  bool is_schema_place(uint32_t node) const;
  std::string_view base_uri(uint32_t resource) const;
  uint32_t find_identifier(std::string_view uri, uint32_t from) const;
  uint32_t find_anchor(uint32_t resource, std::string_view name) const;
  uint32_t child_of(uint32_t node, std::string_view token) const;
  uint32_t follow_pointer(uint32_t from, std::string_view pointer) const;

  // Builders by type. `expression` kNone: no value.
  Status build_number(Atoms atoms, uint32_t* expression);
  Status build_string(Atoms atoms, uint32_t* expression);
  Status build_array(Atoms atoms, uint32_t* expression);
  Status build_object(Atoms atoms, uint32_t* expression);

  // Strings, schema_string.cpp.
  struct StringFacts;
  Status string_facts(Atoms atoms, StringFacts* facts);
  Status string_automaton(Atoms atoms, CharacterAutomaton* automaton);
  Status pattern_automaton(uint32_t node, CharacterAutomaton* automaton);
  Status pattern_tree(uint32_t node, RegexTree& tree);
  Status restrict_by(Atoms atoms, bool with_length, CharacterAutomaton* automaton, bool* any);
  Status listed_strings(Atoms atoms, uint32_t* expression);
  Status names_automaton(uint32_t schema, CharacterAutomaton* automaton);

  friend class SchemaObjectBuilder;
  friend class SchemaArrayBuilder;
  friend class SchemaNumberBuilder;

  const JsonDocument& document_;
  const SchemaOptions& options_;
  GrammarBuilder& builder_;
  Workspace& workspace_;
  Error* error_;
  JsonGrammar json_;
  uint32_t root_ = 0;
  bool modern_ = true;  // not draft 7 or before, where $ref hides its siblings

  InternedSets goals_;  // of (node, kind and negation) pairs
  GrowingArray<uint32_t> goal_rules_;

  // Of the expansion under way.
  JsonType type_ = JsonType::kNull;
  uint64_t steps_ = 0;  // of all expansions
  GrowingArray<Cell> cells_;
  GrowingArray<Branch> branches_;

  // Automata of patterns and formats, by node.
  struct Known {
    uint32_t node;
    CharacterAutomaton automaton;
  };
  GrowingArray<Known> known_;
};

}  // namespace sotto
