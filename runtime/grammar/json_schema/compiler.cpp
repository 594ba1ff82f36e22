#include "runtime/grammar/json_schema/compiler.h"

#include <algorithm>

namespace sotto {
namespace {

// Bounds the time of a compilation: a schema of 445,000 expressions takes 0.6 s on a Zen 4 core. Beyond the bound, the
// status is not kGrammarTooLarge, because more memory would not help.
constexpr uint32_t kMaxExpressions = 500000;

}  // namespace

SchemaCompiler::Goal SchemaCompiler::normalize(GrowingArray<Literal>& literals) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < literals.size(); ++i) {
    const Literal literal = literals[i];
    if (literal.kind == LiteralKind::kSchema) {
      const JsonKind kind = document_.kind(literal.node);
      bool always = kind == JsonKind::kTrue;
      if (kind == JsonKind::kObject) {
        always = true;
        for (const uint32_t m : document_.children(literal.node)) {
          always = always && !schema_.is_asserting(m);
        }
      }
      const bool never = kind == JsonKind::kFalse;
      if (always || never) {
        if (always == literal.negated) return Goal::kNever;
        continue;
      }
    }
    bool is_known = false;
    schema_.spend(kept);
    for (uint32_t j = 0; j < kept && !is_known; ++j) {
      is_known = literals[j].node == literal.node && literals[j].kind == literal.kind;
      if (is_known && literals[j].negated != literal.negated) return Goal::kNever;
    }
    if (!is_known) literals[kept++] = literal;
  }
  literals.truncate(kept);
  return literals.empty() ? Goal::kAny : Goal::kRule;
}

uint32_t SchemaCompiler::value(GrowingArray<Literal>& literals) {
  switch (normalize(literals)) {
    case Goal::kNever:
      return json_.never();
    case Goal::kAny:
      return json_.any_value();
    case Goal::kRule:
      break;
  }
  // Goals that differ only in the order of their literals are equal. The first of them determines the order of members.
  const uint32_t first = goal_literals_.size();
  for (const Literal& literal : literals.span()) goal_literals_.push(literal);
  std::sort(literals.begin(), literals.end(),
            [](const Literal& a, const Literal& b) { return a.node != b.node ? a.node < b.node : a.kind < b.kind; });
  GrowingArray<uint32_t> key(workspace_);
  for (const Literal& literal : literals.span()) {
    key.push(literal.node);
    key.push(static_cast<uint32_t>(literal.kind) << 1 | (literal.negated ? 1u : 0u));
  }
  const uint32_t before = goals_.count();
  const uint32_t goal = goals_.intern(key.span());
  if (goals_.count() == before) {
    goal_literals_.truncate(first);
  } else {
    goal_rules_.push({builder_.anonymous_rule(kNoIndex), first, literals.size()});
  }
  if (goal >= goal_rules_.size()) return builder_.empty();  // the workspace is exhausted
  return builder_.reference(goal_rules_[goal].rule);
}

uint32_t SchemaCompiler::pair(std::string_view name, uint32_t value) {
  GrowingArray<uint32_t> key(workspace_);
  key.push(builder_.expression(value).first);
  for (const char c : name) key.push(static_cast<uint8_t>(c));
  const uint32_t before = pairs_.count();
  const uint32_t known = pairs_.intern(key.span());
  if (pairs_.count() != before) {
    const uint32_t text = json_.quoted(name);
    const uint32_t colon = json_.colon();
    pair_rules_.push(builder_.anonymous_rule(json_.item(json_.sequence(text, colon, value))));
  }
  return pair_rules_[known < pair_rules_.size() ? known : 0];
}

Status SchemaCompiler::compile(uint32_t schema, uint32_t* expression) {
  schema_.set_root(schema);
  GrowingArray<Literal> root(workspace_);
  root.push({schema, LiteralKind::kSchema, false});
  const uint32_t document = value(root);
  for (uint32_t goal = 0; goal < goals_.count(); ++goal) {
    uint32_t body = kNoIndex;
    SOTTO_TRY(schema_.check_limits());
    SOTTO_TRY(this->body(goal, &body));
    SOTTO_TRY(schema_.check_limits());
    builder_.define(goal_rules_[goal].rule, body, 0);
    if (builder_.expression_count() > kMaxExpressions) {
      return fail(schema_.error(), Status::kGrammarUnsupported, "the schema needs more than ", kMaxExpressions,
                  " expressions; anyOf and oneOf need fewer where a constant distinguishes their schemas");
    }
  }
  *expression = json_.outer(document);
  SOTTO_TRY(schema_.check_limits());
  schema_.warn();
  return Status::kOk;
}

// Builds the rule of a goal: a choice between the alternatives of all types.
Status SchemaCompiler::body(uint32_t goal, uint32_t* expression) {
  GrowingArray<Literal> literals(workspace_);
  const GoalRule& goal_rule = goal_rules_[goal];
  for (uint32_t i = 0; i < goal_rule.count; ++i) literals.push(goal_literals_[goal_rule.first + i]);
  if (literals.size() == 1 && literals[0].kind == LiteralKind::kSchema && !literals[0].negated) {
    SOTTO_TRY(alternatives_of_references(literals[0].node, expression));
    if (*expression != kNoIndex) return Status::kOk;
  }
  GrammarBuilder::List choices;
  uint32_t free_types = 0;
  for (uint32_t t = 0; t < kJsonTypeCount; ++t) {
    const auto type = static_cast<JsonType>(t);
    Alternatives alternatives(workspace_);
    SOTTO_TRY(expansion_.expand(literals.span(), type, alternatives));
    // An empty alternative means that every value of the type satisfies the goal.
    bool is_free = false;
    for (uint32_t i = 0; i < alternatives.size(); ++i) is_free = is_free || alternatives[i].empty();
    if (is_free) {
      builder_.append(choices, json_.any(type));
      ++free_types;
      continue;
    }
    for (uint32_t i = 0; i < alternatives.size(); ++i) {
      uint32_t built = kNoIndex;
      SOTTO_TRY(build(type, alternatives[i], &built));
      if (built != kNoIndex) builder_.append(choices, built);
    }
  }
  if (free_types == kJsonTypeCount) {
    *expression = json_.any_value();
  } else {
    *expression = choices.first == kNoIndex ? json_.never() : builder_.choice(choices);
  }
  return Status::kOk;
}

// Builds a schema with the only keyword $ref or anyOf as a choice between the rules of other schemas, so that these
// rules are shared, not expanded. Leaves `*expression` unchanged for any other schema.
Status SchemaCompiler::alternatives_of_references(uint32_t schema, uint32_t* expression) {
  if (document_.kind(schema) != JsonKind::kObject) return Status::kOk;
  uint32_t only = kNoIndex;
  for (const uint32_t m : document_.children(schema)) {
    if (!schema_.is_asserting(m)) continue;
    if (only != kNoIndex) return Status::kOk;
    only = m;
  }
  GrowingArray<Literal> literals(workspace_);
  if (schema_.keyword(only) == Keyword::kRef) {
    uint32_t target = kNoIndex;
    SOTTO_TRY(schema_.resolve(only, &target));
    literals.push({target, LiteralKind::kSchema, false});
    *expression = value(literals);
  } else if (schema_.keyword(only) == Keyword::kAnyOf && document_.kind(only) == JsonKind::kArray &&
             document_[only].count > 0) {
    GrammarBuilder::List choices;
    for (const uint32_t child : document_.children(only)) {
      literals.truncate(0);
      literals.push({child, LiteralKind::kSchema, false});
      builder_.append(choices, value(literals));
    }
    *expression = builder_.choice(choices);
  }
  return Status::kOk;
}

Status SchemaCompiler::build(JsonType type, Atoms atoms, uint32_t* expression) {
  switch (type) {
    case JsonType::kNumber:
      return build_number(*this, atoms, expression);
    case JsonType::kString:
      return build_string(*this, atoms, expression);
    case JsonType::kArray:
      return build_array(*this, atoms, expression);
    case JsonType::kObject:
      return build_object(*this, atoms, expression);
    default:
      return fail(schema_.error(), Status::kInternal, "a keyword is left over for a value without content");
  }
}

}  // namespace sotto
