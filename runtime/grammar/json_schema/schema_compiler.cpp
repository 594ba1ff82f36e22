#include "runtime/grammar/json_schema/schema_compiler.h"

#include <algorithm>
#include <cstring>

#include "runtime/grammar/json_schema/schema_decimal.h"

namespace sotto {
namespace {

constexpr uint32_t kMaxGoals = 50000;

}  // namespace

SchemaCompiler::SchemaCompiler(const JsonDocument& schema, const SchemaOptions& options, GrammarBuilder& builder,
                               Error* error)
    : document_(schema),
      options_(options),
      builder_(builder),
      workspace_(builder.workspace()),
      error_(error),
      json_(builder, options.style),
      goals_(builder.workspace()),
      goal_rules_(builder.workspace()),
      cells_(builder.workspace()),
      branches_(builder.workspace()),
      known_(builder.workspace()) {
  modern_ = options.draft == SchemaDraft::k2020;
}

Status SchemaCompiler::fail_at_node(Status status, uint32_t node, const char* what) {
  char pointer[120];
  const size_t size = document_.pointer(node, pointer, sizeof pointer);
  return fail_at(error_, status, document_[node].offset, std::span<const char>(pointer, size), ": ", what);
}

Status SchemaCompiler::check_memory() {
  if (!workspace_.exhausted()) return Status::kOk;
  return fail_too_large(error_);
}

Keyword SchemaCompiler::keyword(uint32_t member) const { return find_keyword(document_.name(member), modern_); }

bool SchemaCompiler::is_asserting(uint32_t member) const {
  const Keyword keyword = this->keyword(member);
  if (keyword == Keyword::kAnnotation) return false;
  if (keyword == Keyword::kRef || modern_) return true;
  return document_.member(document_[member].parent, "$ref") == kNone;
}

uint32_t SchemaCompiler::assertion(uint32_t schema, Keyword keyword) const {
  if (document_.kind(schema) != JsonKind::kObject) return kNone;
  for (uint32_t node = document_[schema].first; node != kNone; node = document_[node].next) {
    if (this->keyword(node) == keyword && is_asserting(node)) return node;
  }
  return kNone;
}

Status SchemaCompiler::count_of(uint32_t node, uint32_t* count) {
  Decimal decimal(workspace_);
  if (document_.kind(node) != JsonKind::kNumber || !decimal.parse(document_.text(node)) || decimal.negative() ||
      !decimal.is_integer()) {
    return reject(node, "must be an integer of 0 or more");
  }
  *count = static_cast<uint32_t>(std::min<uint64_t>(decimal.to_integer(), kMaxRepetitions - 1));
  return Status::kOk;
}

std::string_view SchemaCompiler::name_of(const Literal& literal) const {
  return literal.kind == LiteralKind::kNamed ? document_.text(literal.node) : document_.name(literal.node);
}

JsonType SchemaCompiler::type_of(uint32_t value) const { return static_cast<JsonType>(document_.kind(value)); }

bool SchemaCompiler::same_value(uint32_t a, uint32_t b) const {
  if (document_.kind(a) != document_.kind(b)) return false;
  switch (document_.kind(a)) {
    case JsonKind::kString:
      return document_.text(a) == document_.text(b);
    case JsonKind::kNumber:
      return same_number(document_.text(a), document_.text(b), workspace_);
    case JsonKind::kArray:
    case JsonKind::kObject:
      return false;
    default:
      return true;
  }
}

// Leaves out what is always true and sorts the rest.
SchemaCompiler::Goal SchemaCompiler::normalize(GrowingArray<Literal>& literals) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < literals.size(); ++i) {
    Literal literal = literals[i];
    if (literal.kind == LiteralKind::kSchema) {
      const JsonKind kind = document_.kind(literal.node);
      bool always = kind == JsonKind::kTrue;
      if (kind == JsonKind::kObject) {
        always = true;
        for (uint32_t m = document_[literal.node].first; m != kNone; m = document_[m].next) {
          always = always && !is_asserting(m);
        }
      }
      const bool never = kind == JsonKind::kFalse;
      if (always || never) {
        if (always == literal.negated) return Goal::kNever;
        continue;
      }
    }
    literals[kept++] = literal;
  }
  literals.truncate(kept);
  std::sort(literals.begin(), literals.end(), [](const Literal& a, const Literal& b) {
    if (a.node != b.node) return a.node < b.node;
    return a.kind != b.kind ? a.kind < b.kind : a.negated < b.negated;
  });
  literals.truncate(static_cast<size_t>(std::unique(literals.begin(), literals.end()) - literals.begin()));
  for (uint32_t i = 1; i < literals.size(); ++i) {
    if (literals[i].node == literals[i - 1].node && literals[i].kind == literals[i - 1].kind) return Goal::kNever;
  }
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
  GrowingArray<uint32_t> key(workspace_);
  for (const Literal& literal : literals.span()) {
    key.push(literal.node);
    key.push(static_cast<uint32_t>(literal.kind) << 1 | (literal.negated ? 1u : 0u));
  }
  const uint32_t before = goals_.count();
  const uint32_t goal = goals_.intern(key.span());
  if (goals_.count() != before) goal_rules_.push(builder_.anonymous_rule(kNone));
  if (goal >= goal_rules_.size()) return builder_.empty();  // out of memory
  return builder_.reference(goal_rules_[goal]);
}

Status SchemaCompiler::compile(uint32_t schema, uint32_t* expression) {
  root_ = schema;
  const uint32_t draft = document_.member(schema, "$schema");
  if (draft != kNone && document_.kind(draft) == JsonKind::kString) {
    modern_ = document_.text(draft).find("/draft-0") == std::string_view::npos;
  }
  GrowingArray<Literal> root(workspace_);
  root.push({schema, LiteralKind::kSchema, false});
  const uint32_t document = value(root);
  for (uint32_t goal = 0; goal < goals_.count(); ++goal) {
    uint32_t body = kNone;
    SOTTO_TRY(check_memory());
    SOTTO_TRY(this->body(goal, &body));
    SOTTO_TRY(check_memory());
    builder_.define(goal_rules_[goal], body, 0);
    if (goals_.count() > kMaxGoals) {
      return fail(error_, Status::kGrammarTooLarge, "the schema needs more than 50000 rules");
    }
  }
  *expression = json_.outer(document);
  return check_memory();
}

Status SchemaCompiler::body(uint32_t goal, uint32_t* expression) {
  GrowingArray<Literal> literals(workspace_);
  const auto key = goals_[goal];
  for (size_t i = 0; i < key.size(); i += 2) {
    literals.push({key[i], static_cast<LiteralKind>(key[i + 1] >> 1), (key[i + 1] & 1) != 0});
  }
  if (literals.size() == 1 && literals[0].kind == LiteralKind::kSchema && !literals[0].negated) {
    SOTTO_TRY(alternatives_of_references(literals[0].node, expression));
    if (*expression != kNone) return Status::kOk;
  }
  List choices;
  uint32_t free_types = 0;
  for (uint32_t t = 0; t < kJsonTypeCount; ++t) {
    const auto type = static_cast<JsonType>(t);
    Alternatives alternatives(workspace_);
    SOTTO_TRY(expand(literals.span(), type, alternatives));
    bool is_free = false;
    for (uint32_t i = 0; i < alternatives.ends.size(); ++i) is_free = is_free || alternatives[i].empty();
    if (is_free) {
      builder_.append(choices, json_.any(type));
      ++free_types;
      continue;
    }
    for (uint32_t i = 0; i < alternatives.ends.size(); ++i) {
      uint32_t built = kNone;
      SOTTO_TRY(build(type, alternatives[i], &built));
      if (built != kNone) builder_.append(choices, built);
    }
  }
  if (free_types == kJsonTypeCount) {
    *expression = json_.any_value();
  } else {
    *expression = choices.first == kNone ? json_.never() : builder_.choice(choices);
  }
  return Status::kOk;
}

// A schema that only says $ref or anyOf is a choice between the rules of others.
Status SchemaCompiler::alternatives_of_references(uint32_t schema, uint32_t* expression) {
  if (document_.kind(schema) != JsonKind::kObject) return Status::kOk;
  uint32_t only = kNone;
  for (uint32_t m = document_[schema].first; m != kNone; m = document_[m].next) {
    if (!is_asserting(m)) continue;
    if (only != kNone) return Status::kOk;
    only = m;
  }
  GrowingArray<Literal> literals(workspace_);
  if (keyword(only) == Keyword::kRef) {
    uint32_t target = kNone;
    SOTTO_TRY(resolve(only, &target));
    literals.push({target, LiteralKind::kSchema, false});
    *expression = value(literals);
  } else if (keyword(only) == Keyword::kAnyOf && document_.kind(only) == JsonKind::kArray &&
             document_[only].count > 0) {
    List choices;
    for (uint32_t child = document_[only].first; child != kNone; child = document_[child].next) {
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
      return build_number(atoms, expression);
    case JsonType::kString:
      return build_string(atoms, expression);
    case JsonType::kArray:
      return build_array(atoms, expression);
    case JsonType::kObject:
      return build_object(atoms, expression);
    default:
      return fail(error_, Status::kInternal, "a keyword is left over for a value without content");
  }
}

Status build_json_schema(std::span<const char> schema, const SchemaOptions& options, std::span<const char> name,
                         GrammarBuilder& builder, Error* error) {
  JsonDocument document(builder.workspace());
  SOTTO_TRY(document.parse(schema, error));
  SchemaCompiler compiler(document, options, builder, error);
  uint32_t expression = kNone;
  SOTTO_TRY(compiler.compile(0, &expression));
  builder.define(builder.rule(name, 0), expression, 0);
  return Status::kOk;
}

}  // namespace sotto
