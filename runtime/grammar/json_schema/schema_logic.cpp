// How keywords that combine schemas, and those that come in groups, split into branches.
#include "runtime/grammar/json_schema/schema_compiler.h"

namespace sotto {

// Of a list of schemas: all hold, or (no conjunction) at least one does; each perhaps negated.
Status SchemaCompiler::apply_all(Branch& branch, Literal literal, bool conjunction) {
  const JsonNode& list = document_[literal.node];
  if (list.kind != JsonKind::kArray || list.count == 0) {
    return reject(literal.node, "must be an array of at least one schema");
  }
  GrowingArray<Literal> open(workspace_);
  for (uint32_t child = list.first; child != kNone; child = document_[child].next) {
    const Literal schema{child, LiteralKind::kSchema, literal.negated};
    Verdict verdict = Verdict::kOpen;
    if (!conjunction) SOTTO_TRY(this->verdict(child, &verdict));
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

// Exactly one holds: each in turn, without those of the others that it may overlap.
Status SchemaCompiler::apply_one(Branch& branch, Literal literal) {
  const JsonNode& list = document_[literal.node];
  if (list.kind != JsonKind::kArray || list.count == 0) {
    return reject(literal.node, "must be an array of at least one schema");
  }
  GrowingArray<uint32_t> open(workspace_);
  uint32_t certain = 0;
  for (uint32_t child = list.first; child != kNone; child = document_[child].next) {
    Verdict verdict = Verdict::kOpen;
    SOTTO_TRY(this->verdict(child, &verdict));
    if (verdict == Verdict::kTrue) ++certain;
    if (verdict == Verdict::kOpen) open.push(child);
  }
  // With n certain ones: one in all means that none of the open ones holds, or one if n is 0.
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

Status SchemaCompiler::apply_if(Branch& branch, Literal literal) {
  const uint32_t schema = document_[literal.node].parent;
  const uint32_t consequences[] = {assertion(schema, Keyword::kThen), assertion(schema, Keyword::kElse)};
  Verdict verdict = Verdict::kOpen;
  SOTTO_TRY(this->verdict(literal.node, &verdict));
  for (uint32_t i = 0; i < 2; ++i) {
    const bool holds = i == 0;
    if (verdict == (holds ? Verdict::kFalse : Verdict::kTrue)) continue;
    // Without a consequence this side always holds.
    if (consequences[i] == kNone && literal.negated) continue;
    Literal both[2] = {{literal.node, LiteralKind::kSchema, !holds},
                       {consequences[i], LiteralKind::kSchema, literal.negated}};
    fork(branch, {both, consequences[i] == kNone ? size_t{1} : size_t{2}});
  }
  branch.dead = true;
  return Status::kOk;
}

Status SchemaCompiler::apply_properties(Branch& branch, Literal literal) {
  const uint32_t schema = document_[literal.node].parent;
  if (!literal.negated) {
    add_atom(branch, {schema, LiteralKind::kGroup, false});
    return Status::kOk;
  }
  const uint32_t patterns = assertion(schema, Keyword::kPatternProperties);
  const uint32_t others = additional_of(schema);
  if (patterns != kNone) return refuse(patterns, "\"not\" around patternProperties is not supported");
  if (others != kNone && document_.kind(others) != JsonKind::kTrue) {
    return refuse(others, "\"not\" around additionalProperties is not supported");
  }
  const uint32_t properties = assertion(schema, Keyword::kProperties);
  for (uint32_t p = properties == kNone ? kNone : document_[properties].first; p != kNone; p = document_[p].next) {
    const Literal wrong[] = {{p, LiteralKind::kProperty, true}, {p, LiteralKind::kPresent, false}};
    if (document_.kind(p) != JsonKind::kTrue) fork(branch, wrong);
  }
  branch.dead = true;
  return Status::kOk;
}

uint32_t SchemaCompiler::additional_of(uint32_t schema) const {
  const uint32_t additional = assertion(schema, Keyword::kAdditionalProperties);
  return additional != kNone ? additional : assertion(schema, Keyword::kUnevaluatedProperties);
}

Status SchemaCompiler::apply_tuple(Branch& branch, Literal literal) {
  const uint32_t schema = document_[literal.node].parent;
  if (!literal.negated) {
    add_atom(branch, {schema, LiteralKind::kTuple, false});
    return Status::kOk;
  }
  const Tuple tuple = tuple_of(schema);
  for (uint32_t i = tuple.prefix; i != kNone; i = document_[i].next) {
    const Literal wrong[] = {{i, LiteralKind::kElement, true}, {i, LiteralKind::kLonger, false}};
    fork(branch, wrong);
  }
  if (tuple.rest != kNone && document_.kind(tuple.rest) != JsonKind::kTrue) {
    if (tuple.prefix != kNone) return refuse(tuple.rest, "\"not\" around the elements after a tuple is not supported");
    const Literal exists{tuple.rest, LiteralKind::kExists, true};
    fork(branch, {&exists, 1});
  }
  branch.dead = true;
  return Status::kOk;
}

SchemaCompiler::Tuple SchemaCompiler::tuple_of(uint32_t schema) const {
  Tuple tuple;
  const uint32_t prefix = assertion(schema, Keyword::kPrefixItems);
  const uint32_t items = assertion(schema, Keyword::kItems);
  if (prefix != kNone) tuple.list = prefix;
  if (items != kNone && document_.kind(items) == JsonKind::kArray) {
    tuple.list = items;
    tuple.rest = assertion(schema, Keyword::kAdditionalItems);
  } else {
    tuple.rest = items;
  }
  if (tuple.rest == kNone) tuple.rest = assertion(schema, Keyword::kUnevaluatedItems);
  if (tuple.list != kNone) {
    tuple.prefix = document_[tuple.list].first;
    tuple.count = document_[tuple.list].count;
  }
  return tuple;
}

Status SchemaCompiler::apply_contains(Branch& branch, Literal literal) {
  const uint32_t schema = document_[literal.node].parent;
  if (!literal.negated) {
    add_atom(branch, {schema, LiteralKind::kContains, false});
    return Status::kOk;
  }
  for (const Keyword bound : {Keyword::kMinContains, Keyword::kMaxContains}) {
    const uint32_t node = assertion(schema, bound);
    if (node != kNone) return refuse(node, "\"not\" around minContains or maxContains is not supported");
  }
  add_atom(branch, {literal.node, LiteralKind::kEvery, true});
  return Status::kOk;
}

}  // namespace sotto
