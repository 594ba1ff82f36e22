// The expansion of goals to alternatives: a disjunctive normal form, built branch by branch.
#include <algorithm>

#include "runtime/grammar/json_schema/schema_compiler.h"

namespace sotto {
namespace {

constexpr uint32_t kMaxAlternatives = 512;
constexpr uint32_t kMaxSteps = 200000;  // of one goal and type
constexpr uint64_t kMaxStepsInAll = 10000000;

}  // namespace

void SchemaCompiler::push(uint32_t* list, Literal literal) { *list = cells_.push({literal, *list}); }

void SchemaCompiler::fork(const Branch& branch, std::span<const Literal> literals) {
  Branch fresh = branch;
  for (const Literal& literal : literals) push(&fresh.pending, literal);
  branches_.push(fresh);
}

Status SchemaCompiler::expand(std::span<const Literal> goal, JsonType type, Alternatives& alternatives) {
  type_ = type;
  cells_.truncate(0);
  branches_.truncate(0);
  cells_.push({{}, kNone});  // what a full workspace hands out
  SOTTO_TRY(check_memory());
  Branch start;
  for (size_t i = goal.size(); i > 0; --i) push(&start.pending, goal[i - 1]);
  branches_.push(start);
  uint32_t steps = 0;
  while (!branches_.empty()) {
    Branch branch = branches_.back();
    branches_.pop();
    while (branch.pending != kNone && !branch.dead) {
      SOTTO_TRY(check_memory());
      if (++steps > kMaxSteps || ++steps_ > kMaxStepsInAll)
        return refuse(goal[0].node, "too many combinations of alternatives");
      const Literal literal = cells_[branch.pending].literal;
      branch.pending = cells_[branch.pending].next;
      SOTTO_TRY(apply(branch, literal));
    }
    if (branch.dead) continue;
    const uint32_t begin = alternatives.literals.size();
    for (uint32_t cell = branch.atoms; cell != kNone; cell = cells_[cell].next) {
      alternatives.literals.push(cells_[cell].literal);
    }
    std::reverse(alternatives.literals.begin() + begin, alternatives.literals.end());
    alternatives.ends.push(alternatives.literals.size());
    if (alternatives.ends.size() > kMaxAlternatives) {
      return refuse(goal[0].node, "too many combinations of alternatives");
    }
    if (alternatives.literals.size() == begin) break;  // anything goes
  }
  return check_memory();
}

// A branch that wants both of two opposites is dead.
void SchemaCompiler::add_atom(Branch& branch, Literal literal) {
  const auto names = [](LiteralKind kind) { return kind == LiteralKind::kPresent || kind == LiteralKind::kNamed; };
  for (uint32_t cell = branch.atoms; cell != kNone; cell = cells_[cell].next) {
    const Literal& other = cells_[cell].literal;
    const bool same = names(literal.kind) && names(other.kind)
                          ? name_of(literal) == name_of(other)
                          : literal.kind == other.kind && literal.node == other.node;
    if (!same) continue;
    if (literal.negated != other.negated) branch.dead = true;
    return;
  }
  push(&branch.atoms, literal);
}

Status SchemaCompiler::apply(Branch& branch, Literal literal) {
  switch (literal.kind) {
    case LiteralKind::kSchema:
      return apply_schema(branch, literal);
    case LiteralKind::kEquals:
      return apply_equals(branch, literal);
    case LiteralKind::kKeyword:
      return apply_keyword(branch, literal);
    case LiteralKind::kDependency:
      return apply_dependency(branch, literal);
    case LiteralKind::kNames:
      return apply_required(branch, literal);
    default:
      add_atom(branch, literal);
      return Status::kOk;
  }
}

Status SchemaCompiler::apply_schema(Branch& branch, Literal literal) {
  for (uint32_t cell = branch.seen; cell != kNone; cell = cells_[cell].next) {
    if (cells_[cell].literal.node != literal.node) continue;
    if (cells_[cell].literal.negated != literal.negated) branch.dead = true;
    return Status::kOk;
  }
  push(&branch.seen, literal);
  const JsonKind kind = document_.kind(literal.node);
  if (kind == JsonKind::kTrue || kind == JsonKind::kFalse) {
    if ((kind == JsonKind::kTrue) == literal.negated) branch.dead = true;
    return Status::kOk;
  }
  if (kind != JsonKind::kObject) return reject(literal.node, "a schema must be an object or a boolean");
  // The schema is the conjunction of its keywords that are open for this type.
  GrowingArray<Literal> open(workspace_);
  for (uint32_t m = document_[literal.node].first; m != kNone; m = document_[m].next) {
    Verdict verdict = Verdict::kOpen;
    SOTTO_TRY(keyword_verdict(m, &verdict));
    if (verdict == Verdict::kFalse) {
      if (!literal.negated) branch.dead = true;
      return Status::kOk;
    }
    if (verdict == Verdict::kOpen) open.push({m, LiteralKind::kKeyword, literal.negated});
  }
  if (!literal.negated) {
    for (uint32_t i = open.size(); i > 0; --i) push(&branch.pending, open[i - 1]);
    return Status::kOk;
  }
  if (open.size() == 1) {
    push(&branch.pending, open[0]);
    return Status::kOk;
  }
  for (const Literal& keyword : open.span()) fork(branch, {&keyword, 1});
  branch.dead = true;
  return Status::kOk;
}

Status SchemaCompiler::apply_equals(Branch& branch, Literal literal) {
  if (type_of(literal.node) != type_) {
    if (!literal.negated) branch.dead = true;
    return Status::kOk;
  }
  if (type_ < JsonType::kNumber) {
    if (literal.negated) branch.dead = true;
    return Status::kOk;
  }
  if (literal.negated && type_ >= JsonType::kArray) {
    return refuse(literal.node, "\"not\" with an array or object as value is not supported");
  }
  add_atom(branch, literal);
  return Status::kOk;
}

Status SchemaCompiler::apply_keyword(Branch& branch, Literal literal) {
  const uint32_t member = literal.node;
  switch (keyword(member)) {
    case Keyword::kUnsupported:
      return refuse(member, "the keyword is not supported");
    case Keyword::kType:
      add_atom(branch, {member, LiteralKind::kInteger, literal.negated});
      return Status::kOk;
    case Keyword::kEnum:
    case Keyword::kConst:
      return apply_values(branch, literal);
    case Keyword::kRef: {
      uint32_t target = kNone;
      SOTTO_TRY(resolve(member, &target));
      push(&branch.pending, {target, LiteralKind::kSchema, literal.negated});
      return Status::kOk;
    }
    case Keyword::kAllOf:
      return apply_all(branch, literal, !literal.negated);
    case Keyword::kAnyOf:
      return apply_all(branch, literal, literal.negated);
    case Keyword::kOneOf:
      return apply_one(branch, literal);
    case Keyword::kNot:
      push(&branch.pending, {member, LiteralKind::kSchema, !literal.negated});
      return Status::kOk;
    case Keyword::kIf:
      return apply_if(branch, literal);
    case Keyword::kRequired:
      return apply_required(branch, literal);
    case Keyword::kDependencies:
    case Keyword::kDependentRequired:
    case Keyword::kDependentSchemas:
      return apply_dependencies(branch, literal);
    case Keyword::kProperties:
    case Keyword::kPatternProperties:
    case Keyword::kAdditionalProperties:
      return apply_properties(branch, literal);
    case Keyword::kUnevaluatedProperties:
      if (is_seen_through(document_[member].parent)) {
        return refuse(member, "not supported beside keywords that combine schemas");
      }
      return apply_properties(branch, literal);
    case Keyword::kUnevaluatedItems:
      if (is_seen_through(document_[member].parent)) {
        return refuse(member, "not supported beside keywords that combine schemas, or contains");
      }
      return apply_tuple(branch, literal);
    case Keyword::kItems:
    case Keyword::kPrefixItems:
    case Keyword::kAdditionalItems:
      return apply_tuple(branch, literal);
    case Keyword::kContains:
    case Keyword::kMinContains:
    case Keyword::kMaxContains:
      return apply_contains(branch, literal);
    case Keyword::kPropertyNames:
      if (literal.negated) return refuse(member, "\"not\" around propertyNames is not supported");
      break;
    case Keyword::kUniqueItems:
      if (literal.negated) return refuse(member, "\"not\" around uniqueItems is not supported");
      break;
    default:
      break;
  }
  add_atom(branch, literal);
  return Status::kOk;
}

Status SchemaCompiler::apply_values(Branch& branch, Literal literal) {
  const uint32_t member = literal.node;
  const bool is_const = keyword(member) == Keyword::kConst;
  if (type_ < JsonType::kArray) {
    add_atom(branch, literal);
    return Status::kOk;
  }
  for (uint32_t v = is_const ? member : document_[member].first; v != kNone; v = is_const ? kNone : document_[v].next) {
    if (type_of(v) != type_) continue;
    const Literal equals{v, LiteralKind::kEquals, literal.negated};
    if (literal.negated) {
      push(&branch.pending, equals);
    } else {
      fork(branch, {&equals, 1});
    }
  }
  if (!literal.negated) branch.dead = true;
  return Status::kOk;
}

Status SchemaCompiler::apply_required(Branch& branch, Literal literal) {
  if (document_.kind(literal.node) != JsonKind::kArray) return reject(literal.node, "must be an array of names");
  for (uint32_t name = document_[literal.node].first; name != kNone; name = document_[name].next) {
    if (document_.kind(name) != JsonKind::kString) return reject(name, "must be a name");
    const Literal named{name, LiteralKind::kNamed, literal.negated};
    if (literal.negated) {
      fork(branch, {&named, 1});
    } else {
      add_atom(branch, named);
    }
  }
  if (literal.negated) branch.dead = true;
  return Status::kOk;
}

// a -> b is: not a, or a and b.
Status SchemaCompiler::apply_dependencies(Branch& branch, Literal literal) {
  if (document_.kind(literal.node) != JsonKind::kObject) return reject(literal.node, "must be an object");
  for (uint32_t m = document_[literal.node].first; m != kNone; m = document_[m].next) {
    const Literal dependency{m, LiteralKind::kDependency, literal.negated};
    if (literal.negated) {
      fork(branch, {&dependency, 1});
    } else {
      push(&branch.pending, dependency);
    }
  }
  if (literal.negated) branch.dead = true;
  return Status::kOk;
}

Status SchemaCompiler::apply_dependency(Branch& branch, Literal literal) {
  const uint32_t member = literal.node;
  const Literal present{member, LiteralKind::kPresent, false};
  const Literal absent{member, LiteralKind::kPresent, true};
  const bool is_list = document_.kind(member) == JsonKind::kArray;
  if (!literal.negated) fork(branch, {&absent, 1});
  push(&branch.pending, {member, is_list ? LiteralKind::kNames : LiteralKind::kSchema, literal.negated});
  push(&branch.pending, present);
  return Status::kOk;
}

}  // namespace sotto
