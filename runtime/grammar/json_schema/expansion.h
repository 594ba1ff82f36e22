// The expansion of goals to alternatives.
//
// A goal is a set of literals that one value must satisfy together. A literal is a schema, a keyword, a value, or the
// negation of one. For one JSON type, the expansion replaces schemas by their keywords, and keywords that combine
// schemas (allOf, anyOf, oneOf, not, if, dependencies) by their meaning, until only atoms remain. An atom is a literal
// that the builder of the type understands. The result is a disjunctive normal form: a list of alternatives, each a
// list of atoms. The expansion builds it branch by branch with an explicit list of pending literals, as in the tableau
// method of logic. A branch that requires a literal and its negation is dead.
//
// Example: {"anyOf": [{"minimum": 9}, {"maximum": 3}], "not": {"multipleOf": 2}} has two alternatives for numbers:
// {minimum 9, not multipleOf 2} and {maximum 3, not multipleOf 2}. For strings it has none: multipleOf holds for every
// string, so its negation is dead.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/grammar/json_schema/verdicts.h"

namespace sotto {

// The kinds of literals: what a literal says about a value.
enum class LiteralKind : uint8_t {
  kSchema,
  kEquals,   // the value is equal to `node`
  kKeyword,  // the value satisfies the member `node` of a schema
  // The kinds below arise only during the expansion.
  kInteger,
  kNames,  // all properties named in the array `node` are present
  // If the property named like the member `node` is present, the value as a whole satisfies `node`.
  kDependency,
  kGroup,        // "properties" and related keywords in the schema `node`
  kPresent,      // a property named like the member `node` is present
  kNamed,        // a property with the name in the string `node` is present
  kProperty,     // if the property named like the member `node` is present, its value satisfies the schema `node`
  kSameMember,   // if the property named like the member `node` is present, its value is equal to `node`
  kTuple,        // "items" and related keywords in the schema `node`
  kContains,     // "contains" and related keywords in the schema `node`
  kExists,       // some element satisfies the schema `node`; negated: some element does not
  kEvery,        // every element satisfies the schema `node`
  kElement,      // if there is an element with the index of `node`, it satisfies `node`
  kSameElement,  // if there is an element with the index of `node`, it is equal to `node`
  kLonger,       // the number of elements exceeds the index of `node`
  kExceeds,      // the number of elements exceeds that of the array `node`
  // Some property violates the keyword. The keyword of each kind applies to different properties.
  kSomeMatching,  // `node` is a member of "patternProperties"
  kSomeOther,     // `node` is "additionalProperties"
  kSomeName,      // `node` is "propertyNames"
  kSomeUnlisted,  // `node` is an object, and the property has none of its names
};

// A condition on a value, given by a node of the document.
struct Literal {
  uint32_t node;
  LiteralKind kind;
  bool negated;

  bool operator==(const Literal&) const = default;
};

using Atoms = std::span<const Literal>;

// Returns the name of the property that a kPresent, kNamed, kProperty or kSameMember literal refers to.
std::string_view name_of(const JsonDocument& document, const Literal& literal);

// The alternatives of an expansion, each a run of literals.
struct Alternatives {
  explicit Alternatives(Workspace& workspace) : literals(workspace), ends(workspace) {}
  uint32_t size() const { return ends.size(); }
  Atoms operator[](uint32_t i) const {
    const uint32_t begin = i == 0 ? 0 : ends[i - 1];
    return literals.span(begin, ends[i] - begin);
  }
  GrowingArray<Literal> literals;
  GrowingArray<uint32_t> ends;
};

class Expansion {
 public:
  Expansion(const Schema& schema, Patterns& patterns)
      : schema_(schema),
        patterns_(patterns),
        document_(schema.document()),
        workspace_(schema.workspace()),
        cells_(workspace_),
        branches_(workspace_) {}

  // Adds the alternatives of the goal for values of the type. An empty alternative means that every value satisfies it.
  Status expand(std::span<const Literal> goal, JsonType type, Alternatives& alternatives);

 private:
  struct Cell {
    Literal literal;
    uint32_t next;
  };
  // An alternative under construction, as lists of cells. A branch is dead if it contradicts itself, or if forks have
  // replaced it.
  struct Branch {
    uint32_t pending = kNoIndex;  // literals that have not been applied yet
    uint32_t atoms = kNoIndex;
    uint32_t seen = kNoIndex;  // schemas that have been applied, so that a cycle of references ends
    bool dead = false;
  };

  void push(uint32_t* list, Literal literal);
  void fork(const Branch& branch, std::span<const Literal> literals);
  void add_atom(Branch& branch, Literal literal);
  Status apply(Branch& branch, Literal literal);
  Status apply_schema(Branch& branch, Literal literal);
  Status apply_equals(Branch& branch, Literal literal);
  void differ(const Branch& branch, uint32_t value);
  Status apply_keyword(Branch& branch, Literal literal);
  Status apply_all(Branch& branch, Literal literal, bool conjunction);
  Status apply_one(Branch& branch, Literal literal);
  Status disjoint(uint32_t a, uint32_t b, bool* result);
  Status apply_if(Branch& branch, Literal literal);
  Status apply_values(Branch& branch, Literal literal);
  Status apply_required(Branch& branch, Literal literal);
  bool is_negated_with_property(Literal required, std::string_view name) const;
  bool is_required(uint32_t property) const;
  Status apply_dependencies(Branch& branch, Literal literal);
  Status apply_dependency(Branch& branch, Literal literal);
  Status apply_properties(Branch& branch, Literal literal);
  Status apply_tuple(Branch& branch, Literal literal);
  Status apply_contains(Branch& branch, Literal literal);

  const Schema& schema_;
  Patterns& patterns_;
  const JsonDocument& document_;
  Workspace& workspace_;
  JsonType type_ = JsonType::kNull;
  uint64_t steps_ = 0;  // number of steps in all expansions
  GrowingArray<Cell> cells_;
  GrowingArray<Branch> branches_;
};

}  // namespace sotto
