// A grammar as rules over expressions. Every front end (GBNF, JSON Schema, regular expressions) builds one, and the
// compiler reads it. The builder takes its memory from a workspace. Once the workspace is exhausted, further calls are
// harmless, and the compiler reports the failure.
//
// Example: list ::= "[" [0-9]+ "]" is a rule with a sequence of three expressions: a text, a repetition of a set of
// characters, and another text.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/hash_index.h"
#include "runtime/base/status.h"
#include "runtime/base/workspace.h"
#include "runtime/grammar/automata/code_points.h"

namespace sotto {

inline constexpr uint32_t kMaxRepetitions = uint32_t{1} << 31;

// The kinds of expressions.
enum class ExpressionKind : uint8_t {
  kEmpty,
  kText,        // a string of bytes
  kCharacters,  // one of a set of code points
  kTokens,      // one of a set of tokens of the vocabulary
  kReference,   // a string of a rule
  kSequence,
  kChoice,
  kRepeat,
  kAnyOrder,  // members of a set
};

// An expression. Its children are a linked list, which may be empty.
struct Expression {
  ExpressionKind kind;
  // Offset of a string, first interval of characters or tokens, rule of a reference, first member of a set, or first
  // child.
  uint32_t first;
  uint32_t count;  // number of bytes, intervals or members
  uint32_t minimum;
  uint32_t maximum;
  uint32_t next;  // next sibling
  uint32_t size;  // number of states with all repetitions written out, or UINT32_MAX if there are more
};

// A member of a set, which never matches the empty string.
struct SetMember {
  uint32_t rule;     // rule of the member as the first one of a text
  uint32_t more;     // rule of the member after another one, for example with a comma
  uint32_t minimum;  // 0 or 1
  uint32_t maximum;  // 1 or kUnbounded
};
inline constexpr uint32_t kMaxSingleMembers = 64;  // maximum number of members with the maximum 1

// A rule. Its body is an expression.
struct Rule {
  uint32_t name;  // offset of the name
  uint32_t name_size;
  uint32_t body;       // kNoIndex until the rule is defined
  uint64_t mentioned;  // offset of the first use in the source
  uint64_t defined;
  bool prefers_literals = false;  // true if its states have GrammarState::kPrefersLiterals
};

class GrammarBuilder {
 public:
  explicit GrammarBuilder(Workspace& workspace);

  // Returns the rule with this name. The first use of a name creates the rule.
  uint32_t rule(std::span<const char> name, uint64_t source_offset);
  // Returns kNoIndex if the name has not been used.
  uint32_t find_rule(std::span<const char> name) const;
  // Forgets the names of all rules, so that another grammar can use the same names for other rules.
  void forget_names();
  // Adds a rule without a name.
  uint32_t anonymous_rule(uint32_t body);
  void prefer_literals(uint32_t rule) { rules_[rule].prefers_literals = true; }
  // Defines a rule that has no body yet.
  void define(uint32_t rule, uint32_t body, uint64_t source_offset);

  // Begins a list of intervals, to which add_interval() adds, and returns its start for characters() or tokens().
  uint32_t begin_intervals() const { return intervals_.size(); }
  void add_interval(Interval interval) { intervals_.push(interval); }

  // Each function below returns an expression. It may be used only once: as a child or as the body of a rule.
  uint32_t empty();
  uint32_t text(std::span<const char> bytes);
  uint32_t reference(uint32_t rule);
  // Matches one character of the intervals added since `begin` or, with `complement`, one character outside of them.
  // Returns kNoIndex if there is no such character.
  uint32_t characters(uint32_t begin, bool complement);
  // Matches one token of the intervals added since `begin`.
  uint32_t tokens(uint32_t begin);
  // Requires minimum <= maximum. Neither may exceed kMaxRepetitions, but `maximum` may be kUnbounded.
  uint32_t repeat(uint32_t expression, uint32_t minimum, uint32_t maximum);

  // Matches one or more members in any order, each as often as its bounds allow. At most kMaxSingleMembers may have the
  // maximum 1. The last member may have the minimum 0 and the maximum kUnbounded, and then matches only after all
  // required members.
  uint32_t any_order(std::span<const SetMember> members);

  // Expressions that become the children of a sequence or a choice.
  struct List {
    uint32_t first = kNoIndex;
    uint32_t last = kNoIndex;
    uint32_t size = 0;
  };
  void append(List& list, uint32_t expression);
  uint32_t sequence(const List& list);
  uint32_t choice(const List& list);

  const Expression& expression(uint32_t index) const { return expressions_[index]; }
  uint32_t expression_count() const { return expressions_.size(); }
  const Rule& rule_at(uint32_t index) const { return rules_[index]; }
  uint32_t rule_count() const { return rules_.size(); }
  std::span<const char> rule_name(uint32_t rule) const;
  std::span<const char> bytes(const Expression& text) const;
  std::span<const Interval> intervals(const Expression& expression) const;
  std::span<const SetMember> members(const Expression& expression) const;
  Workspace& workspace() { return workspace_; }

 private:
  uint32_t add(const Expression& expression);
  uint32_t group(const List& list, ExpressionKind kind);
  static uint32_t hash_of(std::span<const char> name);
  bool rehash(uint32_t slot_count);

  Workspace& workspace_;
  GrowingArray<Expression> expressions_;
  GrowingArray<Interval> intervals_;
  GrowingArray<SetMember> members_;
  GrowingArray<char> texts_;
  GrowingArray<char> names_;
  GrowingArray<Rule> rules_;
  HashIndex names_index_;
  uint32_t named_rules_ = 0;
  uint32_t forgotten_rules_ = 0;  // number of rules whose names have been forgotten
};

// Fails because the workspace is exhausted.
Status fail_too_large(Error* error);

}  // namespace sotto
