#include "runtime/grammar/json_schema/expansion.h"

#include <algorithm>

namespace sotto {
namespace {

// Limits beyond which a schema is rejected, because an expansion can grow exponentially.
constexpr uint32_t kMaxAlternatives = 512;
constexpr uint32_t kMaxGoalSteps = 200000;  // limit for one goal and type
constexpr uint64_t kMaxStepsInAll = 10000000;

}  // namespace

std::string_view name_of(const JsonDocument& document, const Literal& literal) {
  return literal.kind == LiteralKind::kNamed ? document.text(literal.node) : document.name(literal.node);
}

void Expansion::push(uint32_t* list, Literal literal) { *list = cells_.push({literal, *list}); }

void Expansion::fork(const Branch& branch, std::span<const Literal> literals) {
  Branch fresh = branch;
  for (const Literal& literal : literals) push(&fresh.pending, literal);
  branches_.push(fresh);
}

Status Expansion::expand(std::span<const Literal> goal, JsonType type, Alternatives& alternatives) {
  type_ = type;
  cells_.truncate(0);
  branches_.truncate(0);
  cells_.push({{}, kNoIndex});  // push() returns the index of this cell once the workspace is exhausted
  SOTTO_TRY(schema_.check_limits());
  Branch start;
  for (size_t i = goal.size(); i > 0; --i) push(&start.pending, goal[i - 1]);
  branches_.push(start);
  uint32_t steps = 0;
  while (!branches_.empty()) {
    Branch branch = branches_.back();
    branches_.pop();
    while (branch.pending != kNoIndex && !branch.dead) {
      schema_.spend(1);
      SOTTO_TRY(schema_.check_limits());
      if (++steps > kMaxGoalSteps || ++steps_ > kMaxStepsInAll)
        return schema_.unsupported(goal[0].node, "too many combinations of alternatives");
      const Literal literal = cells_[branch.pending].literal;
      branch.pending = cells_[branch.pending].next;
      SOTTO_TRY(apply(branch, literal));
    }
    if (branch.dead) continue;
    const uint32_t begin = alternatives.literals.size();
    for (uint32_t cell = branch.atoms; cell != kNoIndex; cell = cells_[cell].next) {
      alternatives.literals.push(cells_[cell].literal);
    }
    std::reverse(alternatives.literals.begin() + begin, alternatives.literals.end());
    alternatives.ends.push(alternatives.literals.size());
    if (alternatives.ends.size() > kMaxAlternatives) {
      return schema_.unsupported(goal[0].node, "too many combinations of alternatives");
    }
    if (alternatives.literals.size() == begin) break;  // every value satisfies the goal
  }
  return schema_.check_limits();
}

// Adds an atom. A branch that contains a literal and its negation is dead.
void Expansion::add_atom(Branch& branch, Literal literal) {
  const auto names = [](LiteralKind kind) { return kind == LiteralKind::kPresent || kind == LiteralKind::kNamed; };
  for (uint32_t cell = branch.atoms; cell != kNoIndex; cell = cells_[cell].next) {
    schema_.spend(1);
    const Literal& other = cells_[cell].literal;
    const bool same = names(literal.kind) && names(other.kind)
                          ? name_of(document_, literal) == name_of(document_, other)
                          : literal.kind == other.kind && literal.node == other.node;
    if (!same) continue;
    if (literal.negated != other.negated) branch.dead = true;
    return;
  }
  push(&branch.atoms, literal);
}

Status Expansion::apply(Branch& branch, Literal literal) {
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

// Replaces a schema by its keywords. A negated schema forks one branch per keyword, with this keyword negated.
Status Expansion::apply_schema(Branch& branch, Literal literal) {
  for (uint32_t cell = branch.seen; cell != kNoIndex; cell = cells_[cell].next) {
    schema_.spend(1);
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
  if (kind != JsonKind::kObject) return schema_.reject(literal.node, "must be a schema: an object or a boolean");
  // The schema is the conjunction of the keywords whose verdict for this type is open.
  GrowingArray<Literal> open(workspace_);
  for (const uint32_t m : document_.children(literal.node)) {
    Verdict verdict = Verdict::kOpen;
    SOTTO_TRY(TypeVerdicts(schema_, type_).of_keyword(m, &verdict));
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

// Requires or excludes one value. Each type before kNumber has only one value, so the type decides the literal.
Status Expansion::apply_equals(Branch& branch, Literal literal) {
  if (schema_.type_of(literal.node) != type_) {
    if (!literal.negated) branch.dead = true;
    return Status::kOk;
  }
  if (type_ < JsonType::kNumber) {
    if (literal.negated) branch.dead = true;
    return Status::kOk;
  }
  if (literal.negated && type_ >= JsonType::kArray) {
    differ(branch, literal.node);
    branch.dead = true;
    return Status::kOk;
  }
  add_atom(branch, literal);
  return Status::kOk;
}

// Forks one branch per difference between an array or object and `value`: a child is missing, there is one more, or a
// child is different.
void Expansion::differ(const Branch& branch, uint32_t value) {
  const bool is_array = type_ == JsonType::kArray;
  const Literal more{value, is_array ? LiteralKind::kExceeds : LiteralKind::kSomeUnlisted, false};
  fork(branch, {&more, 1});
  for (const uint32_t child : document_.children(value)) {
    const Literal present{child, is_array ? LiteralKind::kLonger : LiteralKind::kPresent, false};
    const Literal absent{child, present.kind, true};
    const Literal other[] = {{child, is_array ? LiteralKind::kSameElement : LiteralKind::kSameMember, true}, present};
    const bool is_last = document_[child].next == kNoIndex;
    if (!is_array || is_last) fork(branch, {&absent, 1});  // an array without its last element covers all shorter ones
    fork(branch, other);
  }
}

// Expands a keyword that combines schemas. All other keywords become atoms.
Status Expansion::apply_keyword(Branch& branch, Literal literal) {
  const uint32_t member = literal.node;
  switch (schema_.keyword(member)) {
    case Keyword::kUnsupported:
      return schema_.unsupported(member, "the keyword is not supported");
    case Keyword::kType:
      add_atom(branch, {member, LiteralKind::kInteger, literal.negated});
      return Status::kOk;
    case Keyword::kEnum:
    case Keyword::kConst:
      return apply_values(branch, literal);
    case Keyword::kRef: {
      uint32_t target = kNoIndex;
      SOTTO_TRY(schema_.resolve(member, &target));
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
      if (schema_.is_seen_through(document_[member].parent)) {
        return schema_.unsupported(member, "not supported next to keywords that combine schemas");
      }
      return apply_properties(branch, literal);
    case Keyword::kUnevaluatedItems:
      if (schema_.is_seen_through(document_[member].parent)) {
        return schema_.unsupported(member, "not supported next to keywords that combine schemas, or contains");
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
      add_atom(branch, literal.negated ? Literal{member, LiteralKind::kSomeName, false} : literal);
      return Status::kOk;
    case Keyword::kUniqueItems:
      if (literal.negated) return schema_.unsupported(member, "\"not\" around uniqueItems is not supported");
      break;
    default:
      break;
  }
  add_atom(branch, literal);
  return Status::kOk;
}

// Expands enum or const to a branch per array or object. For all other types, the keyword is an atom.
Status Expansion::apply_values(Branch& branch, Literal literal) {
  const uint32_t member = literal.node;
  const bool is_const = schema_.keyword(member) == Keyword::kConst;
  if (type_ < JsonType::kArray) {
    add_atom(branch, literal);
    return Status::kOk;
  }
  for (const uint32_t v : document_.values(member, !is_const)) {
    if (schema_.type_of(v) != type_) continue;
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

// Makes an atom of every required name. A negation forks one branch per name, with the name absent. The negation of
// "properties" covers the names that "properties" next to "required" restricts, so these need no branch.
Status Expansion::apply_required(Branch& branch, Literal literal) {
  if (document_.kind(literal.node) != JsonKind::kArray)
    return schema_.reject(literal.node, "must be an array of names");
  for (const uint32_t name : document_.children(literal.node)) {
    if (document_.kind(name) != JsonKind::kString) return schema_.reject(name, "must be a name");
    SOTTO_TRY(schema_.check_limits());
    const Literal named{name, LiteralKind::kNamed, literal.negated};
    if (literal.negated && is_negated_with_property(literal, document_.text(name))) continue;
    if (literal.negated) {
      fork(branch, {&named, 1});
    } else {
      add_atom(branch, named);
    }
  }
  if (literal.negated) branch.dead = true;
  return Status::kOk;
}

// Returns whether the negation of "properties" next to a negated "required" covers the name.
bool Expansion::is_negated_with_property(Literal required, std::string_view name) const {
  if (required.kind != LiteralKind::kKeyword) return false;
  const uint32_t properties = schema_.assertion(document_[required.node].parent, Keyword::kProperties);
  const uint32_t property = document_.member(properties, name);
  return property != kNoIndex && document_.kind(property) != JsonKind::kTrue;
}

// Returns whether "required" next to "properties" lists the name of a property.
bool Expansion::is_required(uint32_t property) const {
  const uint32_t required = schema_.assertion(document_[document_[property].parent].parent, Keyword::kRequired);
  if (required == kNoIndex || document_.kind(required) != JsonKind::kArray) return false;
  for (const uint32_t name : document_.children(required)) {
    schema_.spend(1);
    if (document_.kind(name) == JsonKind::kString && document_.text(name) == document_.name(property)) return true;
  }
  return false;
}

// Expands each dependency a -> b to the alternatives "not a" and "a and b".
Status Expansion::apply_dependencies(Branch& branch, Literal literal) {
  if (document_.kind(literal.node) != JsonKind::kObject) return schema_.reject(literal.node, "must be an object");
  for (const uint32_t m : document_.children(literal.node)) {
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

Status Expansion::apply_dependency(Branch& branch, Literal literal) {
  const uint32_t member = literal.node;
  const Literal present{member, LiteralKind::kPresent, false};
  const Literal absent{member, LiteralKind::kPresent, true};
  const bool is_list = document_.kind(member) == JsonKind::kArray;
  const Keyword keyword = schema_.keyword(document_[member].parent);
  const bool is_schema = document_.kind(member) == JsonKind::kObject || document_.kind(member) == JsonKind::kTrue ||
                         document_.kind(member) == JsonKind::kFalse;
  if (keyword == Keyword::kDependentRequired && !is_list) return schema_.reject(member, "must be an array of names");
  if (keyword == Keyword::kDependencies && !is_list && !is_schema) {
    return schema_.reject(member, "must be a schema or an array of names");
  }
  if (keyword == Keyword::kDependentSchemas && !is_schema) {
    return schema_.reject(member, "must be a schema: an object or a boolean");
  }
  if (!literal.negated) fork(branch, {&absent, 1});
  push(&branch.pending, {member, is_list ? LiteralKind::kNames : LiteralKind::kSchema, literal.negated});
  push(&branch.pending, present);
  return Status::kOk;
}

// Expands a list of schemas, possibly negated: all of them must hold (`conjunction`), or at least one.
Status Expansion::apply_all(Branch& branch, Literal literal, bool conjunction) {
  const JsonNode& list = document_[literal.node];
  if (list.kind != JsonKind::kArray || list.count == 0) {
    return schema_.reject(literal.node, "must be an array of at least one schema");
  }
  GrowingArray<Literal> open(workspace_);
  for (const uint32_t child : document_.children(literal.node)) {
    const Literal schema{child, LiteralKind::kSchema, literal.negated};
    Verdict verdict = Verdict::kOpen;
    if (!conjunction) SOTTO_TRY(TypeVerdicts(schema_, type_).of_schema(child, &verdict));
    if (verdict == (literal.negated ? Verdict::kFalse : Verdict::kTrue)) return Status::kOk;
    if (verdict == Verdict::kOpen) open.push(schema);
  }
  if (conjunction || open.size() == 1) {
    for (uint32_t i = open.size(); i > 0; --i) push(&branch.pending, open[i - 1]);
    return Status::kOk;
  }
  for (uint32_t i = open.size(); i > 0; --i) fork(branch, {&open[i - 1], 1});
  branch.dead = true;
  return Status::kOk;
}

// Expands a list of schemas of which exactly one must hold. Each schema becomes a branch. The branch negates the other
// schemas that may overlap it.
Status Expansion::apply_one(Branch& branch, Literal literal) {
  const JsonNode& list = document_[literal.node];
  if (list.kind != JsonKind::kArray || list.count == 0) {
    return schema_.reject(literal.node, "must be an array of at least one schema");
  }
  GrowingArray<uint32_t> open(workspace_);
  uint32_t certain = 0;
  for (const uint32_t child : document_.children(literal.node)) {
    Verdict verdict = Verdict::kOpen;
    SOTTO_TRY(TypeVerdicts(schema_, type_).of_schema(child, &verdict));
    if (verdict == Verdict::kTrue) ++certain;
    if (verdict == Verdict::kOpen) open.push(child);
  }
  // Let n schemas hold for certain. "Exactly one" then means that no open schema holds or, if n is 0, that exactly one
  // does.
  GrowingArray<Literal> literals(workspace_);
  const auto none = [&] {
    literals.truncate(0);
    for (const uint32_t child : open.span()) literals.push({child, LiteralKind::kSchema, true});
    fork(branch, literals.span());
  };
  if (!literal.negated) {
    if (certain == 1) none();
    for (const uint32_t one : open.span()) {
      if (certain > 0) break;
      literals.truncate(0);
      for (const uint32_t other : open.span()) {
        bool apart = other == one;
        if (!apart) SOTTO_TRY(disjoint(one, other, &apart));
        if (!apart) literals.push({other, LiteralKind::kSchema, true});
      }
      literals.push({one, LiteralKind::kSchema, false});
      fork(branch, literals.span());
    }
  } else {
    if (certain == 0) none();
    if (certain > 1) return Status::kOk;
    for (uint32_t i = 0; i < open.size(); ++i) {
      if (certain == 1) {
        const Literal one{open[i], LiteralKind::kSchema, false};
        fork(branch, {&one, 1});
        continue;
      }
      for (uint32_t j = 0; j < i; ++j) {
        const Literal pair[] = {{open[i], LiteralKind::kSchema, false}, {open[j], LiteralKind::kSchema, false}};
        bool apart = false;
        SOTTO_TRY(disjoint(open[i], open[j], &apart));
        if (!apart) fork(branch, pair);
      }
    }
  }
  branch.dead = true;
  return Status::kOk;
}

// Sets `*result` to true if it is certain that no value satisfies both schemas, and to false otherwise.
Status Expansion::disjoint(uint32_t a, uint32_t b, bool* result) {
  constexpr uint32_t kDepth = 2;  // nested properties are compared down to this depth
  Conjunction both(schema_, patterns_);
  SOTTO_TRY(both.add(a));
  SOTTO_TRY(both.add(b));
  return both.is_empty(type_, kDepth, result);
}

// Expands to the alternatives "if and then" and "not if and else". If `literal` is negated, the consequences are.
Status Expansion::apply_if(Branch& branch, Literal literal) {
  const uint32_t schema = document_[literal.node].parent;
  const uint32_t consequences[] = {schema_.assertion(schema, Keyword::kThen),
                                   schema_.assertion(schema, Keyword::kElse)};
  Verdict verdict = Verdict::kOpen;
  SOTTO_TRY(TypeVerdicts(schema_, type_).of_schema(literal.node, &verdict));
  for (uint32_t i = 0; i < 2; ++i) {
    const bool holds = i == 0;
    if (verdict == (holds ? Verdict::kFalse : Verdict::kTrue)) continue;
    // A branch without a consequence always holds, so its negation never does.
    if (consequences[i] == kNoIndex && literal.negated) continue;
    // The branch applies its literals from the last to the first.
    const Literal both[] = {{consequences[i], LiteralKind::kSchema, literal.negated},
                            {literal.node, LiteralKind::kSchema, !holds}};
    fork(branch, consequences[i] == kNoIndex ? std::span(both).last(1) : std::span(both));
  }
  branch.dead = true;
  return Status::kOk;
}

// Makes one atom of "properties" and the keywords next to it. A negation forks one branch per property, in which the
// property is present with a wrong value or, if it is required, absent or wrong.
Status Expansion::apply_properties(Branch& branch, Literal literal) {
  const uint32_t schema = document_[literal.node].parent;
  if (!literal.negated) {
    add_atom(branch, {schema, LiteralKind::kGroup, false});
    return Status::kOk;
  }
  const uint32_t patterns = schema_.assertion(schema, Keyword::kPatternProperties);
  const uint32_t others = schema_.additional_of(schema);
  for (const uint32_t p : document_.children(patterns)) {
    const Literal wrong{p, LiteralKind::kSomeMatching, false};
    if (document_.kind(p) != JsonKind::kTrue) fork(branch, {&wrong, 1});
  }
  if (others != kNoIndex && document_.kind(others) != JsonKind::kTrue) {
    const Literal wrong{others, LiteralKind::kSomeOther, false};
    fork(branch, {&wrong, 1});
  }
  const uint32_t properties = schema_.assertion(schema, Keyword::kProperties);
  for (const uint32_t p : document_.children(properties)) {
    const Literal wrong[] = {{p, LiteralKind::kProperty, true}, {p, LiteralKind::kPresent, false}};
    if (document_.kind(p) != JsonKind::kTrue) fork(branch, std::span(wrong).first(is_required(p) ? 1 : 2));
  }
  branch.dead = true;
  return Status::kOk;
}

// Makes one atom of all schemas of elements. A negation forks one branch per element, with the element present and
// wrong.
Status Expansion::apply_tuple(Branch& branch, Literal literal) {
  const uint32_t schema = document_[literal.node].parent;
  if (schema_.keyword(literal.node) == Keyword::kPrefixItems) {
    const uint32_t items = schema_.assertion(schema, Keyword::kItems);
    if (document_.kind(literal.node) != JsonKind::kArray) {
      return schema_.reject(literal.node, "must be an array of schemas");
    }
    if (items != kNoIndex && document_.kind(items) == JsonKind::kArray) {
      return schema_.reject(items, "must be a schema next to \"prefixItems\"");
    }
  }
  if (!literal.negated) {
    add_atom(branch, {schema, LiteralKind::kTuple, false});
    return Status::kOk;
  }
  const Schema::Tuple tuple = schema_.tuple_of(schema);
  for (const uint32_t i : document_.children(tuple.list)) {
    const Literal wrong[] = {{i, LiteralKind::kElement, true}, {i, LiteralKind::kLonger, false}};
    fork(branch, wrong);
  }
  if (tuple.rest != kNoIndex && document_.kind(tuple.rest) != JsonKind::kTrue) {
    if (tuple.count > 0)
      return schema_.unsupported(tuple.rest, "\"not\" around the elements after a tuple is not supported");
    const Literal exists{tuple.rest, LiteralKind::kExists, true};
    fork(branch, {&exists, 1});
  }
  branch.dead = true;
  return Status::kOk;
}

Status Expansion::apply_contains(Branch& branch, Literal literal) {
  const uint32_t schema = document_[literal.node].parent;
  if (!literal.negated) {
    add_atom(branch, {schema, LiteralKind::kContains, false});
    return Status::kOk;
  }
  for (const Keyword bound : {Keyword::kMinContains, Keyword::kMaxContains}) {
    const uint32_t node = schema_.assertion(schema, bound);
    if (node != kNoIndex)
      return schema_.unsupported(node, "\"not\" around minContains or maxContains is not supported");
  }
  add_atom(branch, {literal.node, LiteralKind::kEvery, true});
  return Status::kOk;
}

}  // namespace sotto
